"""Formulas of convolutions against XLA's own, with their gradients."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops.nn._how import library


def _with_gradients(formula, x, weight, how):
    def both(x, weight):
        out, back = jax.vjp(lambda x, weight: formula(x, weight, how), x, weight)
        return out, *back(jnp.cos(out))
    return jax.jit(both)(x, weight)


def assert_is_the_convolution(formula, x, weight, how):
    for found, expected in zip(_with_gradients(formula, x, weight, how), _with_gradients(library, x, weight, how), strict=True):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
