"""Covariances and numerical gradients. See torch.cov, torch.corrcoef and torch.gradient."""
from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch._base import warned
from jtorch.ops import check, promotion
from jtorch.ops.create import default_float
from jtorch.ops.facts import Saves
from jtorch.ops.matmul import product
from jtorch.ops.registry import Tensor, op

# Covariances ---------------------------------------------------------------------------------------------------------


def _check_weights(name: str, weights, observations: int, kinds: str, wanted: str) -> None:
    if weights is None:
        return
    check.require(weights.ndim <= 1, f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
                  f"{weights.ndim} dimensions")
    is_wanted = promotion.is_float(weights.dtype) if kinds == "f" else weights.dtype.kind in kinds
    check.require(is_wanted, f"cov(): expected {name} to have {wanted} dtype but got {name} with "
                  f"{check.scalar_name(weights.dtype)} dtype")
    check.require(weights.size == observations, f"cov(): expected {name} to have the same numel as there are observations in "
                  f"the input but got {weights.size} != {observations}")


def _weights_are_wrong(input, *, correction=1, fweights=None, aweights=None):
    """Return (are weights invalid, detail): 2 for a negative frequency, 1 for a negative weight, 0 if all are 0."""
    given = [w for w in (fweights, aweights) if w is not None]
    negative = [jnp.zeros((), bool) if w is None else jnp.any(w < 0) for w in (fweights, aweights)]
    nothing = ~jnp.any(functools.reduce(jnp.logical_and, [w != 0 for w in given])) if given else jnp.zeros((), bool)
    kind = jnp.where(negative[0], 2, jnp.where(negative[1], 1, 0)).astype(jnp.int64)
    return negative[0] | negative[1] | nothing, kind


def _weights_error(detail: int, *args, **options):
    if detail == 0:
        return RuntimeError("cov(): weights sum to zero, can't be normalized")
    return RuntimeError(f"cov(): {'fweights' if detail == 2 else 'aweights'} cannot be negative")


@op(value_check=(_weights_are_wrong, _weights_error), out=False, backward_name="SqueezeBackward0",
    saves=Saves(checks=check.nothing))
def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None):
    """Return the covariances of rows over weighted columns (observations). See torch.cov."""
    check.require(input.ndim <= 2, "cov(): expected input to have two or fewer dimensions but got an input with "
                  f"{input.ndim} dimensions")
    check.require(input.dtype != bool, "cov(): bool dtype is not supported for input")
    x = input.reshape(1, -1) if input.ndim < 2 else input
    n = x.shape[1]
    _check_weights("fweights", fweights, n, "iu", "integral")
    _check_weights("aweights", aweights, n, "f", "floating point")
    x = x if promotion.is_inexact(x.dtype) else x.astype(default_float())
    found = _covariances(x, correction, fweights, aweights)
    return found.reshape(()) if found.size == 1 else found


def _covariances(x, correction: int, fweights, aweights):
    n, weights = x.shape[1], None
    if aweights is not None:
        x = x.astype(promotion.promote_types(np.dtype(x.dtype), np.dtype(aweights.dtype)))
    real = jnp.real(x).dtype
    for w in (fweights, aweights):      # PyTorch sums weights in their own dtype
        if w is not None:
            w = w.reshape(1, -1)
            weights = w if weights is None else weights.astype(w.dtype) * w
    total = jnp.asarray(n, real) if weights is None else jnp.sum(weights)
    centered = x - jnp.sum(x if weights is None else x * weights.astype(x.dtype), 1, keepdims=True) / total.astype(x.dtype)
    if weights is None or aweights is None or correction == 0:
        left = total - correction
    else:
        left = total - correction * jnp.sum(weights * aweights.reshape(1, -1)) / total
    if weights is None and n <= correction:
        warned.warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.")
    scaled = centered if weights is None else centered * weights.astype(x.dtype)
    return product(scaled, jnp.conj(centered).T) / jnp.maximum(left, 0).astype(x.dtype)


@op(out=False, backward_name="ClampBackward1", saves=Saves(checks=check.nothing))
def corrcoef(input: Tensor):
    """Return the correlations of the rows, whose columns are observations. See torch.corrcoef."""
    check.require(input.ndim <= 2, "corrcoef(): expected input to have two or fewer dimensions but got an input with "
                  f"{input.ndim} dimensions")
    c = cov(input)
    if c.ndim == 0:
        return c / c
    size = jnp.sqrt(jnp.real(jnp.diagonal(c)))
    scaled = c / size[:, None].astype(c.dtype) / size[None, :].astype(c.dtype)
    if promotion.is_complex(c.dtype):
        return lax.complex(jnp.clip(scaled.real, -1, 1), jnp.clip(scaled.imag, -1, 1))
    return jnp.clip(scaled, -1, 1)


# Numerical gradients -------------------------------------------------------------------------------------------------


def _slice(x, dim: int, start: int, stop: int | None = None):
    n = x.shape[dim]
    stop = n if stop is None else stop + n if stop < 0 else stop
    return lax.slice_in_dim(x, start + n if start < 0 else start, stop, axis=dim)


def _along_coordinates(x, at, dim: int, edge_order: int):
    """Return the derivative on an uneven grid, of the parabola through a point and its neighbours."""
    step = jnp.diff(at).astype(promotion.promote_types(np.dtype(x.dtype), np.dtype(at.dtype)))
    x = x.astype(step.dtype)

    def of_rows(h):
        return h.reshape((1,) * dim + (-1,) + (1,) * (x.ndim - dim - 1))
    before, after = of_rows(step[:-1]), of_rows(step[1:])
    inner = (-after / (before * (before + after)) * _slice(x, dim, 0, -2) + (after - before) / (before * after)
             * _slice(x, dim, 1, -1) + before / (after * (before + after)) * _slice(x, dim, 2))
    return lax.concatenate([_edge(x, step, dim, edge_order), inner, -_edge(jnp.flip(x, dim), step[::-1], dim, edge_order)], dim)


def _evenly_spaced(x, h, dim: int, edge_order: int):
    """Return the derivative on an even grid. It ignores the point itself, which may be inf or nan."""
    def at(start: int, stop: int | None = None):
        return _slice(x, dim, start, stop)
    inner = (at(2) - at(0, -2)) / h / 2
    if edge_order == 1:
        first, last = at(1, 2) - at(0, 1), at(-1) - at(-2, -1)
    else:
        first = at(0, 1) * -1.5 + at(1, 2) * 2 + at(2, 3) * -0.5
        last = at(-3, -2) * 0.5 + at(-2, -1) * -2 + at(-1) * 1.5
    return lax.concatenate([first / h, inner, last / h], dim)


def _edge(x, step, dim: int, edge_order: int):
    """Return the derivative at the first point, from the next one or two."""
    first, second = _slice(x, dim, 0, 1), _slice(x, dim, 1, 2)
    h = step[0]
    if edge_order == 1:
        return (second - first) / h
    k = step[1]
    return (-(2 * h + k) / (h * (h + k)) * first + (h + k) / (h * k) * second
            - h / (k * (h + k)) * _slice(x, dim, 2, 3))


def _check_gradient(x, spacing: list, dims: tuple[int, ...], edge_order: int) -> None:
    check.require(x.dtype != np.uint8, "torch.gradient does not support uint8 input.")
    check.require(edge_order in (1, 2), "torch.gradient only supports edge_order=1 and edge_order=2.")
    check.require(x.dtype != bool, "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                  "`logical_xor()` operator instead.")
    for s in spacing:
        check.require(s.ndim <= 1, "torch.gradient expected each element of spacing to have one dimension, but got an element "
                      f"with {s.ndim} dimensions!")
    for d in dims:
        check.require(x.shape[d] >= edge_order + 1, "torch.gradient expected each dimension size to be at least edge_order+1")


@op(name="gradient", method=False, out=False, backward_name="CatBackward0")
def gradient(input: Tensor, spacing: list[Tensor], dim: Any = None, edge_order: int = 1):
    """Return central differences along each of ``dim``; at the edges one-sided ones. See torch.gradient."""
    dims = check.wrap_dims(dim, input.ndim, empty_is_all=False)
    _check_gradient(input, spacing, dims, edge_order)
    x = input if promotion.is_inexact(input.dtype) else input.astype(default_float())
    found = []
    for d, s in zip(dims, spacing, strict=True):
        if s.ndim:
            at = s.astype(x.dtype) if not promotion.is_inexact(s.dtype) else s
            found.append(_along_coordinates(x, at, d, edge_order))
        else:
            kind = x.dtype
            if promotion.is_complex(np.dtype(s.dtype)) and not promotion.is_complex(np.dtype(kind)):
                kind = np.dtype(np.complex128 if kind == np.float64 else np.complex64)
            found.append(_evenly_spaced(x.astype(kind), s.astype(kind), d, edge_order))
    return found
