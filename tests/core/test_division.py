"""Quotients are exact to the last bit on the host and in programs. XLA alone would multiply by the reciprocal of a
scalar.
"""
from __future__ import annotations

import numpy as np
import pytest

import jtorch

CALLS = {
    "by a number": (lambda x: x / 49, lambda x: x / np.float32(49)),
    "by a tensor": (lambda x: x / jtorch.tensor(49.0), lambda x: x / np.float32(49)),
    "by the sums of rows": (lambda x: x / x.sum(1, keepdim=True), lambda x: x / x.sum(1, keepdims=True)),
    "by what was expanded": (lambda x: x / x[:, :1].expand_as(x), lambda x: x / x[:, :1]),
    "rounded down": (lambda x: (x / 49).floor(), lambda x: np.floor(x / np.float32(49))),
    "floor division": (lambda x: x // 49, lambda x: x // np.float32(49)),
    "rounding towards zero": (lambda x: jtorch.div(x, 49.0, rounding_mode="trunc"), lambda x: np.trunc(x / np.float32(49))),
    "mean along a dim": (lambda x: x.mean(0), lambda x: x.sum(0) / np.float32(7)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_loop_gives_the_same_quotients_in_each_of_its_turns(name):
    call, in_numpy = CALLS[name]
    numbers = np.arange(1, 7 * 49 + 1, dtype=np.float32).reshape(7, 49)
    expected = in_numpy(numbers)
    for _ in range(30):         # The loop is long enough to be compiled.
        got = call(jtorch.tensor(numbers) * 1)
        assert np.array_equal(got.numpy(), expected)


@pytest.mark.parametrize("divisor", [0.0, -0.0, float("inf"), float("nan"), 3.0])
def test_division_of_special_numbers(divisor):
    numbers = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], np.float32)
    with np.errstate(all="ignore"):
        expected = numbers / np.float32(divisor)
    got = (jtorch.tensor(numbers) / divisor).numpy()
    assert np.array_equal(got, expected, equal_nan=True)
    assert np.array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(expected[~np.isnan(expected)]))


def test_the_gradients_of_a_quotient():
    x, y = jtorch.tensor([2.0, 6.0], requires_grad=True), jtorch.tensor(4.0, requires_grad=True)
    (x / y).sum().backward(create_graph=True)
    assert x.grad.tolist() == [0.25, 0.25] and y.grad.item() == -0.5
    second, = jtorch.autograd.grad(y.grad, y)
    assert second.item() == 0.25
