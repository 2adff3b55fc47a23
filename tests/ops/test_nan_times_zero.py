"""What a mask does not hide: ``0 * nan`` is nan, also where a compiler would make the product with a mask a choice."""
from __future__ import annotations

import math

import numpy as np
import pytest
from libraries import library

SIZE = (300, 300)       # more than the host computes by itself


def _holes(xp):
    x = xp.ones(SIZE)
    x[0, 0] = math.nan
    x[1, 1] = math.inf
    return x


MASKED = {
    "a mask as a factor": lambda xp, x: x * (x > 2),
    "a mask made numbers": lambda xp, x: x * (x > 2).float(),
    "a mask made numbers of its own": lambda xp, x: x.mul((x > 2).to(xp.float64)),
    "a masked loss": lambda xp, x: ((x - 1) ** 2 * (x > 2).type_as(x)).sum(),
}


@pytest.mark.parametrize("name", MASKED)
def test_a_mask_of_zeros_lets_nan_through(name, xp):
    for _ in range(2):
        got = MASKED[name](xp, _holes(xp))
        assert int(got.isnan().sum()) == 1


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_a_gradient_of_nan_reaches_all_that_an_extreme_is_of(reduce, torch):
    grads = []
    for xp in (torch, library("jtorch")):
        x = (xp.arange(90_000.) % 7).reshape(SIZE).requires_grad_()
        y = getattr(x, reduce)(0)
        (y * (xp.arange(300.) * math.inf)).sum().backward()
        grads.append(np.isnan(x.grad.numpy()))
    np.testing.assert_array_equal(*grads)
    assert grads[0].any()


def test_amax_shares_its_gradient_evenly(torch):
    for keepdim in (False, True):
        grads = []
        for xp in (torch, library("jtorch")):
            x = xp.tensor([[[1., 3., 3.], [2., 2., 2.]], [[3., 0., math.nan], [1., 5., 5.]]]).requires_grad_()
            (x.amax((0, 2), keepdim=keepdim).sum() + 2 * x.amin(1, keepdim=keepdim).sum() + x.aminmax(dim=-1).max.sum()).backward()
            grads.append(x.grad.numpy())
        np.testing.assert_array_equal(*grads)
