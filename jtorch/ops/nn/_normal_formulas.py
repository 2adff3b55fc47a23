"""Mean, variance and the derivative of what is normalized by them, as formulas."""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax

Affine = jax.Array | None       # a weight or bias


def statistics(x: jax.Array, axes: tuple[int, ...], eps: float, correction: float) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Mean, variance (see ``corrected``), and one by the root of the uncorrected one, of size 1 along ``axes``."""
    mean = jnp.mean(x, axis=axes, keepdims=True)
    var = jnp.mean(jnp.square(x - mean), axis=axes, keepdims=True)
    return mean, corrected(var, x, axes, correction), lax.rsqrt(var + eps)


def corrected(var: jax.Array, x: jax.Array, axes: tuple[int, ...], correction: float) -> jax.Array:
    """A variance divided by ``correction`` less than there are elements, or what is in proportion to one; nan of one element."""
    if not correction:
        return var
    n = math.prod([x.shape[d] for d in axes])
    return var * (n / (n - correction)) if n > correction else var * jnp.nan


def times(x: jax.Array, weight: Affine) -> jax.Array:
    """``x``, or its product with a weight."""
    return x if weight is None else x * weight


def plus(x: jax.Array, bias: Affine) -> jax.Array:
    """``x``, or its sum with a bias."""
    return x if bias is None else x + bias


def tangent(x: jax.Array, mean: jax.Array, scale: jax.Array, weight: Affine, dx: jax.Array, dweight: Affine, dbias: Affine,
            axes: tuple[int, ...]) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The derivative of ``centered / s * weight + bias`` with ``centered = x - mean`` and ``s`` the root of the variance.

    That is ``weight / s * (dx - mean(dx) - centered * mean(dx * centered) / s ** 2) + centered / s * dweight + dbias``; and those
    of mean and variance. What is alike along ``axes`` is added up before it meets ``dx``, so that the transpose takes two sums
    over all elements, that of the gradient and that of it times ``centered``, for the gradients of weight and bias and those of
    ``x`` together. On 2 cores of an Intel machine 16x64x32x32 take 0.23 ms for 0.69 that way, 4x256x16x16 0.14 for 0.24.
    """
    centered = x - mean
    d_mean, along = jnp.mean(dx, axis=axes, keepdims=True), jnp.mean(dx * centered, axis=axes, keepdims=True)
    slope = times(scale, weight)
    of_centered = -slope * jnp.square(scale) * along
    if dweight is not None:
        of_centered = of_centered + scale * dweight
    return slope * dx + plus(-slope * d_mean, dbias) + centered * of_centered, d_mean, 2 * along
