"""The paths of nan and inf: through a mask (``0 * nan`` is nan, although a compiler might select), after all numbers in a sorted
order, and not beyond the selected elements.
"""
from __future__ import annotations

import math

import numpy as np
import pytest
from libraries import library

SIZE = (300, 300)       # The host leaves arrays of this size to a compiled kernel.


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


NAN, INF = math.nan, math.inf
ORDERED = [[1., NAN, 3., NAN, INF, -INF, 2.], [NAN, 1., 2., 5., -1., 0.5, 3.], [INF, NAN, NAN, NAN, NAN, NAN, NAN], [NAN] * 7]
ORDERS = {
    **{f"topk {k} {word}": lambda xp, x, k=k, largest=word == "largest": xp.topk(x, k, largest=largest)[0]
       for k in (1, 3, 7) for word in ("largest", "smallest")},
    "smallest along a dim": lambda xp, x: xp.topk(x.t(), 4, 0, False).values,
    "places of the smallest": lambda xp, x: xp.topk(x[:2], 5, largest=False).indices,
    "sort": lambda xp, x: xp.sort(x, stable=True), "sort down": lambda xp, x: xp.sort(x, descending=True, stable=True),
    "argsort down": lambda xp, x: xp.argsort(x, descending=True, stable=True), "msort": lambda xp, x: xp.msort(x.t()),
    **{f"kthvalue {k}": lambda xp, x, k=k: xp.kthvalue(x, k)[0] for k in (1, 4, 7)},
    "max": lambda xp, x: xp.max(x, -1), "min": lambda xp, x: xp.min(x, -1), "argmin": lambda xp, x: xp.argmin(x, -1),
    "aminmax": lambda xp, x: xp.aminmax(x, dim=-1), "median": lambda xp, x: xp.median(x, -1)[0],
    "nanmedian": lambda xp, x: xp.nanmedian(x, -1)[0], "cummax": lambda xp, x: xp.cummax(x, -1),
    "cummin": lambda xp, x: xp.cummin(x, -1), "unique": lambda xp, x: xp.unique(x, return_inverse=True, return_counts=True)[0::2],
}


@pytest.mark.conformance
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("name", ORDERS)
def test_nan_is_behind_all_numbers(name, dtype, torch):
    found = []
    for xp in (torch, library("jtorch")):
        made = ORDERS[name](xp, xp.tensor(ORDERED).to(getattr(xp, dtype)))
        found.append([t.double().numpy() for t in (made if isinstance(made, tuple) else (made,))])
    for expected, got in zip(*found, strict=True):
        np.testing.assert_array_equal(got, expected)


APART = {
    "gradient": lambda xp, x: xp.gradient(x), "gradient of a step": lambda xp, x: xp.gradient(x, spacing=2.0, dim=1),
    "gradient of second order": lambda xp, x: xp.gradient(x, edge_order=2),
    "gradient on a grid": lambda xp, x: xp.gradient(x, spacing=[xp.tensor([0., 1., 3., 4., 6., 7., 8.])], dim=1),
    "gradient of two": lambda xp, x: xp.gradient(x[:, :2], spacing=[xp.tensor([0., 3.])], dim=1),
    "adaptive_avg_pool1d": lambda xp, x: xp.nn.functional.adaptive_avg_pool1d(x, 3),
    "adaptive_avg_pool2d": lambda xp, x: xp.nn.functional.adaptive_avg_pool2d(x[None], (3, 4)),
    "area": lambda xp, x: xp.nn.functional.interpolate(x[None, None], size=(3, 4), mode="area"),
}


@pytest.mark.conformance
@pytest.mark.parametrize("name", APART)
def test_nan_stays_with_the_elements_that_count(name, torch):
    found = []
    for xp in (torch, library("jtorch")):
        made = APART[name](xp, xp.tensor(ORDERED))
        found.append([t.numpy() for t in (made if isinstance(made, (tuple, list)) else (made,))])
    for expected, got in zip(*found, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)
