"""Scans by an associative function."""
from __future__ import annotations

import pytest

import jtorch as torch
from jtorch._higher_order_ops.associative_scan import associative_scan


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("reverse", [False, True])
def test_sums(n, reverse):
    x = torch.randn(2, n, 3)
    expected = x.flip(1).cumsum(1).flip(1) if reverse else x.cumsum(1)
    assert torch.allclose(associative_scan(lambda a, b: a + b, x, 1, reverse, "generic"), expected, atol=1e-6)


def test_a_recurrence_and_its_gradient():
    a, b = torch.rand(2, 5, requires_grad=True), torch.randn(2, 5, requires_grad=True)
    _, h = associative_scan(lambda left, right: (left[0] * right[0], right[0] * left[1] + right[1]), (a, b), 1, combine_mode="generic")
    steps, state = [], torch.zeros(2)
    for i in range(5):
        state = a[:, i] * state + b[:, i]
        steps.append(state)
    expected = torch.stack(steps, 1)
    assert torch.allclose(h, expected, atol=1e-6)
    for x, y in zip(torch.autograd.grad(h.sum(), (a, b)), torch.autograd.grad(expected.sum(), (a, b)), strict=True):
        assert torch.allclose(x, y, atol=1e-5)


def test_pointwise_is_for_accelerators():
    with pytest.raises(ValueError, match="pointwise"):
        associative_scan(lambda a, b: a + b, torch.ones(2), 0)
