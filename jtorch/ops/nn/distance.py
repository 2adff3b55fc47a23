"""Distances. See https://docs.pytorch.org/docs/stable/nn.functional.html#distance-functions."""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import arrival, check, promotion
from jtorch.ops.facts import Saves
from jtorch.ops.layout import LIKE_FIRST
from jtorch.ops.nn._common import clamp_min, functional, magnitude
from jtorch.ops.registry import Tensor


def vector_norm(x: jax.Array, p: float, axis, *, keepdims: bool = False) -> jax.Array:
    """Return the p-norm along ``axis``. As in PyTorch its gradient is 0 at 0 and shared among equal maxima."""
    size = magnitude(x)
    if p in (math.inf, -math.inf):
        return (jnp.max if p > 0 else jnp.min)(size, axis=axis, keepdims=keepdims)
    if p == 0:
        return jnp.sum((size != 0).astype(size.dtype), axis=axis, keepdims=keepdims)
    if p == 1:
        return jnp.sum(size, axis=axis, keepdims=keepdims)
    zero = size == 0
    if p == 2:
        total = jnp.sum(jnp.real(x * jnp.conj(x)), axis=axis, keepdims=keepdims)
    else:
        powers = jnp.power(jnp.where(zero, 1, size), p)
        total = jnp.sum(jnp.where(zero, 0 if p > 0 else jnp.inf, powers), axis=axis, keepdims=keepdims)
    none = total == 0
    root = jnp.sqrt if p == 2 else (lambda t: jnp.power(t, 1 / p))
    return jnp.where(none, 0, root(jnp.where(none, 1, total)))


def _common_dtype(*tensors: jax.Array) -> list[jax.Array]:
    dtype = promotion.result_type((np.dtype(t.dtype), promotion.DIM if t.ndim else promotion.ZERO_DIM) for t in tensors)
    shape = check.broadcast_shapes(*[t.shape for t in tensors])
    return [jnp.broadcast_to(t.astype(dtype), shape) for t in tensors]


@functional(aliases=("cosine_similarity",), backward_name="SumBackward1", arrival=arrival.last_first)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8):
    """Return the cosine of the angle between vectors along ``dim``. See torch.nn.functional.cosine_similarity."""
    x1, x2 = _common_dtype(x1, x2)
    check.require(promotion.is_float(np.dtype(x1.dtype)), "expected common dtype to be floating point, yet common "
                  f"dtype is {check.scalar_name(x1.dtype)}")
    axis = check.wrap_dim(dim, x1.ndim)
    axes = axis if x1.ndim else ()
    units = []
    for x in (x1, x2):
        norm = vector_norm(x, 2, axes, keepdims=True)
        units.append(x / (norm + lax.stop_gradient(clamp_min(norm, eps) - norm)))   # the gradient ignores the clamp
    return jnp.sum(units[0] * units[1], axis=axes)


@functional(aliases=("pairwise_distance",), backward_name="NormBackward1",
    saves=Saves("both", checks=lambda template, edges: ("result",)))
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
    """Return the p-norm of ``x1 - x2 + eps`` along the last dimension. See torch.nn.functional.pairwise_distance."""
    x1, x2 = _common_dtype(x1, x2)
    difference = (x1 - x2).astype(promotion.to_float(np.dtype(x1.dtype))) + eps
    return vector_norm(difference, p, -1 if difference.ndim else (), keepdims=keepdim and difference.ndim > 0)


@functional(aliases=("pdist",))
def pdist(input: Tensor, p: float = 2.0):
    """Return the p-norm distance of each pair of rows. See torch.nn.functional.pdist."""
    check.require(input.ndim == 2, f"pdist only supports 2D tensors, got: {input.ndim}D")
    check.require(promotion.is_float(np.dtype(input.dtype)), "pdist only supports floating-point dtypes")
    check.require(p >= 0, "pdist only supports non-negative p values")
    first, second = np.triu_indices(input.shape[0], 1)
    difference = input[first] - input[second]
    if p == math.inf:       # in pdist each of equal maxima gets the whole gradient
        size = magnitude(difference)
        top = lax.stop_gradient(jnp.max(size, axis=1, keepdims=True, initial=0))
        return top[:, 0] + jnp.sum(jnp.where(size == top, size - lax.stop_gradient(size), 0), axis=1)
    return vector_norm(difference, p, 1)


@functional(out=True, backward_name="DivBackward0", layout=LIKE_FIRST)
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12):
    """Return the input divided by its p-norm along ``dim``, at least ``eps``. See torch.nn.functional.normalize."""
    check.require(promotion.is_inexact(np.dtype(input.dtype)), "linalg.vector_norm: Expected a floating point or "
                  f"complex tensor as input. Got {check.scalar_name(input.dtype)}")
    axes = check.wrap_dims(dim, input.ndim)
    return input / clamp_min(vector_norm(input, p, axes, keepdims=True), eps).astype(input.dtype)
