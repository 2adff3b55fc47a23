"""Derivatives in terms of the result, which a backward uses after an untracked write to the result.

A node saves its argument, and the op's vjp recomputes the result. PyTorch saves the result's memory. The difference shows
only after a write through ``.data`` or by NumPy. Then the node uses a derivative of this file that the op names with
``Saves(change=…)``: the tangent of the result for a tangent ``t`` of the argument, a function of (t, argument, result, *the
op's other arguments). For ops with several tensors (``Saves(takes=…)``) the first two are lists.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from jtorch.ops import check, promotion
from jtorch.ops.registry import OPS, Tensor, op


def _pointwise(slope: Callable) -> Callable:
    return lambda t, x, r, dim=None, *rest: t * slope(x, r)


def of_softmax(t, x, r, dim, *rest):
    """Return the tangent of softmax along ``dim``."""
    return r * (t - jnp.sum(r * t, check.wrap_dims(dim, x.ndim), keepdims=True))


def of_log_softmax(t, x, r, dim, *rest):
    """Return the tangent of log_softmax along ``dim``."""
    return t - jnp.sum(jnp.exp(r) * t, check.wrap_dims(dim, x.ndim), keepdims=True)


def of_cumprod(t, x, r, dim, *rest):
    """Return the tangent of cumprod. PyTorch's backward reads the result up to the second zero."""
    if x.size <= 1 or x.shape[dim] == 1:
        return t
    zero = x == 0
    # Before the first zero the tangent is the result times the sum of t / x. From the first zero to the second it is the
    # product before that zero, times t at that zero, times the elements since. From the second zero on it is 0.
    zeros = jnp.cumsum(zero, dim)
    start = r * jnp.cumsum(jnp.where(zeros == 0, t / jnp.where(zero, 1, x), 0), dim)
    before = jnp.roll(r, 1, dim).at[(slice(None),) * (dim % x.ndim) + (0,)].set(1)
    at_zero = jnp.cumsum(jnp.where(zero & (zeros == 1), t * before, 0), dim)
    since = jnp.cumprod(jnp.where(zero | (zeros != 1), 1, x), dim)
    return jnp.where(zeros == 0, start, jnp.where(zeros == 1, since * at_zero, 0))


def _over(change: Callable) -> Callable:
    """Return the tangent function of an op that reduces ``dim``. It gives ``change`` the result with the dim kept as size 1."""
    def reduced(t, x, r, dim=None, keepdim=False, *rest):
        axes = check.wrap_dims(dim, x.ndim)
        return change(t, x, r.reshape([1 if d in axes else n for d, n in enumerate(x.shape)]), axes).reshape(r.shape)
    return reduced


def _extreme(t, x, r, axes):
    same = promotion.cast(x == r, x.dtype)
    return jnp.sum(t * same, axes) / jnp.sum(same, axes)


def _evenly(t, x, r, axes):
    same = ((x == r) | (jnp.isnan(x) & jnp.isnan(r))).astype(x.dtype)
    return jnp.sum(t * same, axes) / jnp.maximum(jnp.sum(same, axes), 1)


def of_polar(t, x, r):
    """Return the tangent of polar for tangents of the distance and the angle."""
    size = jnp.abs(r).astype(r.dtype)
    direction = jnp.where(size == 0, 0, r / jnp.where(size == 0, 1, size))
    return jnp.broadcast_to(t[0], r.shape) * direction + jnp.broadcast_to(t[1], r.shape) * (1j * r).astype(r.dtype)


def of_copysign(t, x, r, *rest):
    """Return the tangent of copysign for a tangent of its first argument, the magnitude."""
    t, x = (t[0], x[0]) if isinstance(t, list) else (t, x)
    t, x = jnp.broadcast_to(t, r.shape), jnp.broadcast_to(x, r.shape)
    return t * jnp.where(x == 0, 0, r / jnp.where(x == 0, 1, x))


def _logsumexp(t, x, r, axes):
    return jnp.sum(t * jnp.exp(x - r), axes)


def _prod(t, x, r, axes):
    if not axes:        # For a 0-dim tensor PyTorch's backward does not read the result.
        return t
    zero = x == 0
    filled = jnp.where(zero, 1, x)
    zeros, product = jnp.sum(zero, axes, keepdims=True), jnp.prod(filled, axes, keepdims=True)
    exact = jnp.where(zero, jnp.where(zeros == 1, product, 0), jnp.where(zeros == 0, product / filled, 0))
    return jnp.sum(t * jnp.where(jnp.any(zero), exact, r / filled), axes)       # with a zero the result is not read


def of_norm(t, x, r, p="fro", dim=None, keepdim=False, *rest):
    """Return the tangent of norm, over all elements or along ``dim``."""
    p = 2.0 if p is None or isinstance(p, str) else float(p)
    axes = check.wrap_dims(dim, x.ndim)
    r, size = r.reshape([1 if d in axes else n for d, n in enumerate(x.shape)]), jnp.abs(x)
    if math.isinf(p):
        same = promotion.cast(size == r, size.dtype)
        slope = jnp.sign(x) * (same / jnp.sum(same, axes, keepdims=True)).astype(x.dtype)
    elif p in (0, 1):
        slope = jnp.sign(x) * p
    else:
        stretch = jnp.where(r == 0, 0, size ** (p - 2) / jnp.where(r == 0, 1, r) ** (p - 1))
        slope = jnp.where(size == 0, 0, x * stretch.astype(x.dtype))
    return jnp.sum(_real_product(t, slope), axes, keepdims=keepdim)


def _real_product(a, b):
    """Return the product of real numbers, or the dot product of complex numbers as vectors: the change of a real result."""
    return (a * jnp.conj(b)).real


def of_sgn(t, x, r, *rest):
    """Return the tangent of sgn, the direction of complex numbers. It is 0 for real numbers."""
    if not jnp.iscomplexobj(x):
        return jnp.zeros_like(t)
    size = jnp.abs(x).astype(x.dtype)
    return jnp.where(size == 0, 0, (t - r * r * jnp.conj(t)) / (2 * jnp.where(size == 0, 1, size)))


def of_std(t, x, r, dim=None, unbiased=None, keepdim=False, correction=None, *rest):
    """Return the tangent of std, by the deviation from the mean."""
    if isinstance(dim, bool):       # the overload std(unbiased)
        dim, unbiased = None, dim
    axes = check.wrap_dims(dim, x.ndim)
    count = math.prod([x.shape[d] for d in axes])
    fewer = correction if correction is not None else 1 if unbiased is None else int(unbiased)
    size = [1 if d in axes else n for d, n in enumerate(x.shape)]
    apart = x - jnp.mean(x, axes, keepdims=True)
    return (jnp.sum(_real_product(t, apart), axes).reshape(size) / (r.reshape(size) * (count - fewer))).reshape(r.shape)


def of_hypot(t, x, r):
    """Return the tangent of hypot for tangents of both arguments."""
    return sum(jnp.broadcast_to(change, r.shape) * (jnp.broadcast_to(a.astype(r.dtype), r.shape) / r)
               for change, a in zip(t, x, strict=True))


of_exp, of_exp2, of_expm1 = _pointwise(lambda x, r: r), _pointwise(lambda x, r: r * math.log(2)), _pointwise(lambda x, r: r + 1)
of_sigmoid, of_tanh = _pointwise(lambda x, r: r * (1 - r)), _pointwise(lambda x, r: 1 - r * r)
of_tan = _pointwise(lambda x, r: 1 + r * r)
of_sqrt, of_rsqrt = _pointwise(lambda x, r: 0.5 / r), _pointwise(lambda x, r: -0.5 * r ** 3)
of_reciprocal, of_relu = _pointwise(lambda x, r: -r * r), _pointwise(lambda x, r: (r > 0).astype(r.dtype))
of_prod, of_amax, of_logsumexp, of_max = _over(_prod), _over(_extreme), _over(_logsumexp), _over(_evenly)


@op(name="_along_result", function=False, method=False, out=False, saves="all", tested=False)
def along_result(inputs: list[Tensor], arguments: list[Tensor], result: Tensor, name: str, others: Any):
    """Return the derivative of op ``name`` at these arguments and this result, as a function linear in ``inputs``."""
    inputs = [x if jnp.iscomplexobj(x) else x.astype(result.dtype) for x in inputs]
    change: Any = OPS[name].saves.change
    return change(inputs, arguments, result, *others) if len(inputs) > 1 else change(inputs[0], arguments[0], result, *others)
