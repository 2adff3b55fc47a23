"""Transposed convolutions as ordinary ones, against the convolution of an input with zeros between its elements."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtorch.ops.nn import _convolve
from jtorch.ops.nn._how import How, library

pytestmark = pytest.mark.core


@pytest.mark.parametrize(("size", "kernel", "spread", "padding"), [
    ((5, 6), (4, 4), (2, 2), ((2, 2), (2, 3))), ((3, 4), (2, 2), (3, 3), ((1, 1), (1, 2))),     # places that meet nothing
    ((4, 5), (3, 1), (2, 1), ((0, 0), (0, 0))), ((3, 3), (1, 1), (2, 3), ((0, 0), (1, 2))), ((7,), (5,), (3,), ((-1, 2),)),
    ((2, 3, 2), (2, 3, 2), (2, 2, 1), ((1, 1), (2, 2), (0, -1)))])
def test_phases_are_the_convolution(size, kernel, spread, padding):
    ones, rng = (1,) * len(size), np.random.default_rng(0)
    how = How(ones, padding, ones, spread)
    x, weight = rng.standard_normal((2, 3, *size), np.float32), rng.standard_normal((4, 3, *kernel), np.float32)

    def with_gradients(of):
        def both(x, weight):
            out, back = jax.vjp(lambda x, weight: of(x, weight, how), x, weight)
            return out, *back(jnp.cos(out))
        return jax.jit(both)(x, weight)
    wanted = with_gradients(library)
    for formula in (_convolve._in_phases, _convolve._transposed):
        for found, expected in zip(with_gradients(formula), wanted, strict=True):
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
