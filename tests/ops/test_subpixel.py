"""Transposed convolutions by phases, against the convolution of an input with zeros between its elements."""
from __future__ import annotations

import numpy as np
import pytest
from convolution_formulas import assert_is_the_convolution

from jtorch.ops.nn import _convolve
from jtorch.ops.nn._conv_config import ConvConfig

pytestmark = pytest.mark.core


@pytest.mark.slow
@pytest.mark.parametrize(("size", "kernel", "spread", "padding"), [
    ((5, 6), (4, 4), (2, 2), ((2, 2), (2, 3))), ((3, 4), (2, 2), (3, 3), ((1, 1), (1, 2))),  # Some results read no input.
    ((4, 5), (3, 1), (2, 1), ((0, 0), (0, 0))), ((3, 3), (1, 1), (2, 3), ((0, 0), (1, 2))), ((7,), (5,), (3,), ((-1, 2),)),
    ((2, 3, 2), (2, 3, 2), (2, 2, 1), ((1, 1), (2, 2), (0, -1)))])
def test_phases_are_the_convolution(size, kernel, spread, padding):
    ones, rng = (1,) * len(size), np.random.default_rng(0)
    config = ConvConfig(ones, padding, ones, spread)
    x, weight = rng.standard_normal((2, 3, *size), np.float32), rng.standard_normal((4, 3, *kernel), np.float32)
    for formula in (_convolve._subpixel, _convolve._transposed):
        assert_is_the_convolution(formula, x, weight, config)
