"""Standardization with a hand-written derivative, shared by the normalization layers."""
from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from jtorch.ops import _onednn
from jtorch.ops.nn import _normal_formulas
from jtorch.ops.nn._normal_formulas import Affine, corrected, plus, times


def standardize(x: jax.Array, weight: Affine, bias: Affine, axes: tuple[int, ...],
                eps: float, correction: int = 0) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return ``x`` with mean 0 and variance 1 over ``axes``, times ``weight``, plus ``bias``; and its mean and variance.

    Weight and bias have size 1 along ``axes``. The returned variance is divided by n - ``correction``.
    """
    out, mean, var, _ = _standardized(x, weight, bias, axes, eps, correction)
    return out, mean, var


@functools.partial(jax.custom_jvp, nondiff_argnums=(3, 4, 5))
def _standardized(x: jax.Array, weight: Affine, bias: Affine, axes: tuple[int, ...], eps: float, correction: int) -> tuple:
    mean, var, scale = _by(x, axes).statistics(x, axes, eps, correction)
    return plus((x - mean) * times(scale, weight), bias), mean, var, scale


def _by(x: jax.Array, axes: tuple[int, ...]) -> Any:
    return _onednn.batch_norm if _onednn.batch_norm.normalizes(x, axes) else _normal_formulas


@_standardized.defjvp
def _derivative(axes, eps, correction, primals, tangents):
    (x, weight, _), (dx, dweight, dbias) = primals, tangents
    out, mean, var, scale = _standardized(*primals, axes, eps, correction)
    d_out, d_mean, d_var = _by(x, axes).tangent(x, mean, scale, weight, dx, dweight, dbias, axes)
    d_scale = -0.5 * scale * jnp.square(scale) * d_var
    return (out, mean, var, scale), (d_out, d_mean, corrected(d_var, x, axes, correction), d_scale)
