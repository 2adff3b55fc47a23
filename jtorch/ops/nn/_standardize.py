"""Mean 0 and variance 1, with the derivative written by hand: what the layers that normalize have in common."""
from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
from jax import lax

from jtorch.ops import _onednn

Affine = jax.Array | None       # a weight or bias


@functools.partial(jax.custom_jvp, nondiff_argnums=(3, 4, 5))
def standardize(x: jax.Array, weight: Affine, bias: Affine, axes: tuple[int, ...],
                eps: float, correction: int = 0) -> tuple[jax.Array, jax.Array, jax.Array]:
    """``x`` with mean 0 and variance 1 over ``axes``, times ``weight``, plus ``bias``; and the mean and variance it had.

    Weight and bias have size 1 along ``axes``. The variance that is given is divided by that much less than the elements.
    """
    mean, var, scale = _statistics(x, axes, eps, correction)
    return plus((x - mean) * times(scale, weight), bias), mean, var


def _statistics(x: jax.Array, axes: tuple[int, ...], eps: float, correction: int) -> list[jax.Array]:
    """Mean, variance, and one by the root of the uncorrected one, of size 1 along ``axes``."""
    if _onednn.batch_norm.normalizes(x, axes):
        return [v.reshape(1, -1, *[1] * (x.ndim - 2)) for v in _onednn.batch_norm.statistics(x, eps, correction)]
    mean = jnp.mean(x, axis=axes, keepdims=True)
    var = jnp.mean(jnp.square(x - mean), axis=axes, keepdims=True)
    return [mean, _corrected(var, x, axes, correction), lax.rsqrt(var + eps)]


def _corrected(var: jax.Array, x: jax.Array, axes: tuple[int, ...], correction: int) -> jax.Array:
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


@standardize.defjvp
def _derivative(axes, eps, correction, primals, tangents):
    (x, weight, _), (dx, dweight, dbias) = primals, tangents
    out, mean, var = standardize(*primals, axes, eps, correction)
    scale = _statistics(x, axes, eps, correction)[2]
    if _onednn.batch_norm.normalizes(x, axes):
        made = _onednn.batch_norm.tangent(x, *_flat(mean, scale, weight), dx, *_flat(dweight, dbias))
        d_out, d_mean, d_var = made[0], *[v.reshape(mean.shape) for v in made[1:]]
    else:
        d_out, d_mean, d_var = tangent(x, mean, scale, weight, dx, dweight, dbias, axes)
    return (out, mean, var), (d_out, d_mean, _corrected(d_var, x, axes, correction))


def _flat(*vectors: Affine) -> list[Affine]:
    return [None if v is None else v.reshape(-1) for v in vectors]


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
