"""Formulas for mean, variance and the tangent of a normalization."""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax

Affine = jax.Array | None       # a weight or bias


def statistics(x: jax.Array, axes: tuple[int, ...], eps: float, correction: float) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return mean, variance (see ``corrected``) and 1 / sqrt(uncorrected variance + eps), with size 1 along ``axes``."""
    mean = jnp.mean(x, axis=axes, keepdims=True)
    var = jnp.mean(jnp.square(x - mean), axis=axes, keepdims=True)
    return mean, corrected(var, x, axes, correction), lax.rsqrt(var + eps)


def corrected(var: jax.Array, x: jax.Array, axes: tuple[int, ...], correction: float) -> jax.Array:
    """Return a variance scaled to division by n - ``correction`` instead of n, or nan if that is not positive."""
    if not correction:
        return var
    n = math.prod([x.shape[d] for d in axes])
    return var * (n / (n - correction)) if n > correction else var * jnp.nan


def times(x: jax.Array, weight: Affine) -> jax.Array:
    """Return ``x``, or its product with a weight."""
    return x if weight is None else x * weight


def plus(x: jax.Array, bias: Affine) -> jax.Array:
    """Return ``x``, or its sum with a bias."""
    return x if bias is None else x + bias


def tangent(x: jax.Array, mean: jax.Array, scale: jax.Array, weight: Affine, dx: jax.Array, dweight: Affine, dbias: Affine,
            axes: tuple[int, ...]) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the tangents of ``centered / s * weight + bias``, mean and variance. ``centered = x - mean``, ``s ** 2 = variance``.

    The first is ``weight / s * (dx - mean(dx) - centered * mean(dx * centered) / s ** 2) + centered / s * dweight + dbias``.
    Terms that are constant along ``axes`` are combined before they meet ``dx``. So the transpose needs only two sums
    over all elements, of the gradient and of the gradient times ``centered``, for the gradients of weight, bias and
    ``x`` together.
    """
    centered = x - mean
    d_mean, along = jnp.mean(dx, axis=axes, keepdims=True), jnp.mean(dx * centered, axis=axes, keepdims=True)
    slope = times(scale, weight)
    of_centered = -slope * jnp.square(scale) * along
    if dweight is not None:
        of_centered = of_centered + scale * dweight
    return slope * dx + plus(-slope * d_mean, dbias) + centered * of_centered, d_mean, 2 * along
