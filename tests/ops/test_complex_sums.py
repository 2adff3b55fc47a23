"""Sums of complex numbers with infinities, nans and signed zeros in their parts. PyTorch's kernels multiply by
``alpha`` first.
"""
from __future__ import annotations

import itertools
from math import inf, nan

import numpy as np
import pytest

import jtorch

POINTS = [complex(*parts) for parts in itertools.product((0.0, -0.0, 1.0, inf, -inf, nan), (0.0, -0.0, -2.0, inf, nan))]
PAIRS = list(zip(*itertools.product(POINTS, POINTS), strict=True))
CALLS = {
    "a + b": lambda xp, a, b: a + b,
    "a - b": lambda xp, a, b: a - b,
    "a + b.real": lambda xp, a, b: a + b.real,
    "1 + b": lambda xp, a, b: 1 + b,
    "(1 + 2j) - b": lambda xp, a, b: (1 + 2j) - b,
    "a + inf": lambda xp, a, b: a + complex(inf, 1),
    "add_": lambda xp, a, b: a.clone().add_(b),
    "sub_": lambda xp, a, b: a.clone().sub_(b),
    "rsub": lambda xp, a, b: xp.rsub(a, b),
    "add alpha=2": lambda xp, a, b: xp.add(a, b, alpha=2),
    "addcmul": lambda xp, a, b: xp.addcmul(a, a, b),
    "addcdiv": lambda xp, a, b: xp.addcdiv(a, b, b),
}


def parts(t):
    return np.stack([t.real.numpy(), t.imag.numpy()])


@pytest.mark.core
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", CALLS)
def test_sums(torch, name, dtype):
    expected, got = [parts(CALLS[name](xp, *[xp.tensor(x, dtype=getattr(xp, dtype)) for x in PAIRS])) for xp in (torch, jtorch)]
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(expected[expected == 0]))


@pytest.mark.core
@pytest.mark.parametrize("name", ["a + b", "a - b"])
def test_gradients_pass_as_they_are(torch, name):
    grads = []
    for xp in (torch, jtorch):
        a, b = (xp.ones(2, dtype=xp.complex128, requires_grad=True) for _ in range(2))
        CALLS[name](xp, a, b).backward(xp.tensor([complex(inf, 1), complex(nan, -inf)]))
        grads.append([parts(t.grad) for t in (a, b)])
    np.testing.assert_array_equal(*grads)


def test_a_number_on_the_left_is_the_second_operand(xp):
    x = xp.ones(2, requires_grad=True)
    for y in (2 + x, 2 * x):
        assert [node is None for node, _ in y.grad_fn.next_functions] == [False, True]
