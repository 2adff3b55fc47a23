"""Convolutions computed as matrix products, against plain sums."""
from __future__ import annotations

import numpy as np
import pytest

POINTWISE = [  # (size of the input, number of filters, stride), for many output positions and for few
    ((2, 3, 20, 20), 5, 1), ((2, 3, 4, 5), 6, 1), ((1, 4, 33, 17), 2, 2), ((3, 2, 7, 7), 1, 3), ((2, 3, 300), 2, 1),
    ((2, 3, 4, 8, 9), 2, (1, 2, 1)), ((0, 3, 20, 20), 5, 1)]
ONE_CHANNEL = [  # size, kernel, stride, padding, dilation
    ((9,), (3,), 1, 1, 1), ((9, 8), (3, 3), 1, 1, 1), ((28, 28), (5, 5), 1, 2, 1), ((9, 8), (3, 2), 2, "valid", 2),
    ((12, 12), (5, 5), (2, 1), (0, 2), (1, 2)), ((5, 6, 4), (2, 2, 2), 1, 0, 1), ((4, 4), (1, 1), 1, 1, 1)]


def compare(xp, made, expected, inputs):
    assert made.shape == expected.shape
    assert made.is_contiguous()
    assert xp.allclose(made, expected)
    g = xp.tensor(np.random.default_rng(1).standard_normal(tuple(made.shape)))
    for a, b in zip(xp.autograd.grad(made, inputs, g), xp.autograd.grad(expected, inputs, g), strict=True):
        assert xp.allclose(a, b)


@pytest.mark.parametrize(("size", "filters", "stride"), POINTWISE)
def test_filters_of_one_place_are_a_product_at_each_place(xp, rng, size, filters, stride):
    n = len(size) - 2
    x = xp.tensor(rng.standard_normal(size), requires_grad=True)
    w = xp.tensor(rng.standard_normal((filters, size[1], *[1] * n)), requires_grad=True)
    steps = (stride,) * n if isinstance(stride, int) else stride
    expected = xp.einsum("nc...,oc->no...", x[(..., *[slice(None, None, s) for s in steps])], w.reshape(filters, size[1]))
    compare(xp, getattr(xp.nn.functional, f"conv{n}d")(x, w, stride=stride), expected, (x, w))


@pytest.mark.parametrize(("size", "kernel", "stride", "padding", "dilation"), ONE_CHANNEL)
def test_one_channel_is_half_of_two_that_are_the_same(xp, rng, size, kernel, stride, padding, dilation):
    conv = getattr(xp.nn.functional, f"conv{len(size)}d")
    x = xp.tensor(rng.standard_normal((2, 1, *size)), requires_grad=True)
    w = xp.tensor(rng.standard_normal((4, 1, *kernel)), requires_grad=True)
    b = xp.tensor(rng.standard_normal(4), requires_grad=True)
    two = conv(xp.cat([x, x], 1), xp.cat([w, w], 1) / 2, b, stride, padding, dilation)
    compare(xp, conv(x, w, b, stride, padding, dilation), two, (x, w, b))


@pytest.mark.parametrize(("size", "kernel", "padding"), [
    ((12, 8), (4, 2), 0), ((9,), (4,), 1), ((5, 6, 7), (2, 3, 2), (0, 1, 1)), ((7, 7), (7, 7), 0), ((5, 5), (2, 2), 1)])
def test_filters_side_by_side_are_every_few_of_all(xp, rng, size, kernel, padding):
    conv = getattr(xp.nn.functional, f"conv{len(size)}d")
    x, w = (xp.tensor(rng.standard_normal(s), requires_grad=True) for s in ((2, 3, *size), (4, 3, *kernel)))
    all_places = conv(x, w, padding=padding)
    expected = all_places[(..., *[slice(None, None, k) for k in kernel])].contiguous()
    compare(xp, conv(x, w, padding=padding, stride=kernel), expected, (x, w))
