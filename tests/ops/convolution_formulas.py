"""Formulas of convolutions against XLA's own, with their gradients."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops.nn._conv_config import library


def _with_gradients(formula, x, weight, config):
    def both(x, weight):
        out, back = jax.vjp(lambda x, weight: formula(x, weight, config), x, weight)
        return out, *back(jnp.cos(out))
    return jax.jit(both)(x, weight)


def assert_is_the_convolution(formula, x, weight, config):
    results = (_with_gradients(each, x, weight, config) for each in (formula, library))
    for found, expected in zip(*results, strict=True):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
