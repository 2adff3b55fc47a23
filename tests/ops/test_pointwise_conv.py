"""Convolutions with filters of one place, which are computed as matrix products, against the sum that they are."""
from __future__ import annotations

import numpy as np
import pytest

CASES = [  # size of the input, filters, stride: many places and few
    ((2, 3, 20, 20), 5, 1), ((2, 3, 4, 5), 6, 1), ((1, 4, 33, 17), 2, 2), ((3, 2, 7, 7), 1, 3), ((2, 3, 300), 2, 1),
    ((2, 3, 4, 8, 9), 2, (1, 2, 1)), ((0, 3, 20, 20), 5, 1)]


@pytest.mark.parametrize(("size", "filters", "stride"), CASES)
def test_is_a_product_at_each_place(xp, rng, size, filters, stride):
    n = len(size) - 2
    x = xp.tensor(rng.standard_normal(size), requires_grad=True)
    w = xp.tensor(rng.standard_normal((filters, size[1], *[1] * n)), requires_grad=True)
    made = getattr(xp.nn.functional, f"conv{n}d")(x, w, stride=stride)
    steps = (stride,) * n if isinstance(stride, int) else stride
    expected = xp.einsum("nc...,oc->no...", x[(..., *[slice(None, None, s) for s in steps])], w.reshape(filters, size[1]))
    assert made.shape == expected.shape
    assert made.is_contiguous()
    assert xp.allclose(made, expected)
    g = xp.tensor(np.random.default_rng(1).standard_normal(tuple(made.shape)))
    for a, b in zip(xp.autograd.grad(made, (x, w), g), xp.autograd.grad(expected, (x, w), g), strict=True):
        assert xp.allclose(a, b)
