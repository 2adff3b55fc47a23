"""Convolutions of few or small images by their formulas, against each image convolved by itself in float64."""
from __future__ import annotations

import numpy as np
import pytest
from convolution_formulas import assert_is_the_convolution
from lanes import cases

from jtorch.ops.nn import _small_images
from jtorch.ops.nn._conv_config import ConvConfig

pytestmark = pytest.mark.core

SIZES = [   # Images, channels, height, width, outputs, filter, stride, dilation, padding.
    (1, 3, 8, 8, 40, 3, 2, 1, 1), (2, 3, 13, 9, 3, 3, 1, 2, 2), (3, 2, 13, 4, 1, 1, 1, 1, 0), (5, 2, 13, 13, 3, 3, 3, 1, 2),
    (1, 2, 5, 5, 40, 3, 1, 1, 0), (2, 2, 13, 6, 4, 1, 3, 1, 1), (4, 2, 2, 2, 64, 3, 1, 1, 1), (2, 2, 30, 5, 3, (5, 2), 1, 1, 1)]
FORMULAS = [_small_images._product_of_patches, _small_images._product_with_rows, _small_images._in_blocks]


def _given(size):
    images, channels, height, width, outputs, kernel, stride, dilation, padding = size
    kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    rng = np.random.default_rng(0)
    x, weight = (rng.standard_normal(s, np.float32) for s in ((images, channels, height, width), (outputs, channels, *kernel)))
    return x, weight, ConvConfig((stride,) * 2, ((padding, padding + 1),) * 2, (dilation,) * 2, (1, 1))


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("size", cases(SIZES, SIZES[::3]))
def test_each_formula_is_the_convolution(formula, size):
    assert_is_the_convolution(formula, *_given(size))


@pytest.mark.parametrize(("size", "filters"), [
    ((4, 32, 2, 2), (64, 32, 3, 3)),            # Mostly filters: the result and all gradients are products of patches.
    ((1, 8, 16, 16), (8, 8, 3, 3)),             # Few images with few result positions.
    ((2, 8, 48, 48), (8, 8, 3, 3)),             # Few large images, which are cut into blocks.
    ((0, 3, 8, 8), (4, 3, 3, 3)), ((4, 32, 64), (64, 32, 5)), ((1, 4, 3, 4, 4), (32, 4, 3, 3, 3))])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_or_small_images(xp, torch, rng, size, filters, dtype):
    def made(lib):
        x, w = (lib.tensor(a, dtype=getattr(lib, dtype), requires_grad=True) for a in given)
        convolve = getattr(lib.nn.functional, f"conv{len(size) - 2}d")
        out = convolve(x, w, padding=1)
        first = lib.autograd.grad((out * out).sum(), (x, w), create_graph=True)
        second = lib.autograd.grad(sum((g * g).sum() for g in first), (x, w)) if 0 not in size else ()
        return [a.detach().numpy() for a in (out, *first, *second)]
    given = rng.standard_normal(size), 0.2 * rng.standard_normal(filters)
    for found, expected in zip(made(xp), made(torch), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3 * max(abs(expected).max(initial=0), 1))
