"""Scattering: values written to or combined at indexed places. See torch.scatter, scatter_reduce and index_reduce.

Gradients are PyTorch's. Those of ``amax`` and ``amin`` are shared evenly by all elements equal to the extreme; those of
``prod`` are correct even with zeros.
"""
from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops import check, out_dtypes, promotion
from jtorch.ops.elementwise import beyond_first
from jtorch.ops.facts import Memory, Out, Saves
from jtorch.ops.index import add_at, along, as_1d, at_dim, check_index_dtype, check_source, set_last, small
from jtorch.ops.registry import Number, T, Tensor, op

# an index for each element


def _places(input, dim: int, index) -> tuple:
    """Return the argument of ``.at[]`` for an index array along ``dim``; other dims are indexed by position."""
    return tuple(small(index, input.shape[d]) if d == dim else jax.lax.broadcasted_iota(np.int32, index.shape, d)
                 for d in range(input.ndim))


def _check_scatter(input, dim: int, index, src=None) -> None:
    check.require(src is None or src.dtype == input.dtype, "scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.size:
        return
    check_index_dtype("scatter", index)
    check.require(max(index.ndim, 1) == max(input.ndim, 1), "Index tensor must have the same number of dimensions as "
                  "self tensor")
    sizes, n = as_1d(index)[0].shape, as_1d(input)[0].shape
    given = None if src is None else as_1d(src)[0].shape
    check.require(given is None or len(given) == len(sizes), "Index tensor must have the same number of dimensions as "
                  "src tensor")
    fits = all((d == dim or sizes[d] <= n[d]) and (given is None or sizes[d] <= given[d]) for d in range(len(sizes)))
    check.require(fits, f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from "
                  f"dimension {dim}" + ("" if src is None else f" and to be no larger size than src {list(src.shape)}"))


def _prepared(input, dim: int, index, src) -> tuple[jax.Array, tuple, jax.Array] | None:
    """Return (input, indices, values) with at least one dim, the values cut to the index's shape, or None without indices."""
    dim = check.wrap_dim(dim, input.ndim)
    _check_scatter(input, dim, index, src)
    if not index.size:
        return None
    x, index, src = as_1d(input, index, src)
    return x, _places(x, dim, index), src[tuple(slice(n) for n in index.shape)]


@op(inplace=True, value_check=at_dim(0, RuntimeError),
    backward_name=lambda template: f"ScatterBackward{0 if template[3] is T else 1}", memory=Memory(apart=True),
    out=Out(refuses=out_dtypes.EXPECTED, not_expanded=True), fits="src value")
def scatter(input: Tensor, dim: int, index: Tensor, src: Tensor | Number | None = None, *, value: Number | None = None,
            reduce: str | None = None):
    """Return ``src`` (or one value) written to ``self[index[i][j]][j]`` for dim 0, and so on. See torch.scatter."""
    check.require(reduce in (None, "add", "multiply"), "reduce argument must be either add or multiply.")
    src = value if src is None else src
    if src is None:
        raise TypeError("scatter() received an invalid combination of arguments: `src` or `value` is missing")
    if src.ndim == 0:
        check.require_fits(src, input.dtype)
        src = jnp.broadcast_to(src.astype(input.dtype), index.shape)
    found = _prepared(input, dim, index, src)
    if found is None:
        return input
    x, at, values = found
    match reduce:
        case "add":
            x = _sum(x, at, values)
        case "multiply":
            x = _scatter_prod(x, at, values)
        case _:
            x = set_last(x, at, values)
    return x.reshape(input.shape)


@op(inplace=True, value_check=at_dim(0, RuntimeError), memory=Memory(apart=True), saves=Saves(frees=beyond_first),
    out=Out(refuses=out_dtypes.EXPECTED))
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor):
    """Return ``src`` added at ``self[index[i][j]][j]`` for dim 0, and so on. See torch.scatter_add."""
    found = _prepared(input, dim, index, src)
    if found is None:
        return input
    return _sum(*found).reshape(input.shape)


@op(inplace=True, value_check=at_dim(0, RuntimeError), saves="both", memory=Memory(apart=True),
    out=Out(refuses=out_dtypes.EXPECTED))
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True):
    """Return values combined by sum, prod, mean, amax or amin at indexed places. See torch.scatter_reduce."""
    check.require(reduce in ("sum", "prod", "mean", "amax", "amin"), "reduce argument must be either sum, prod, mean, "
                  f"amax or amin, got {reduce}")
    found = _prepared(input, dim, index, src)
    return input if found is None else _reduced(reduce, *found, include_self).reshape(input.shape)


@op(inplace=True, value_check=at_dim(0, message="index out of range in self"), saves="both", memory=Memory(apart=True),
    out=Out(refuses=out_dtypes.EXPECTED))
def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True):
    """Return slices combined by prod, mean, amax or amin at an index vector. See torch.Tensor.index_reduce_."""
    check.require(reduce in ("prod", "mean", "amax", "amin"), "index_reduce(): Expected reduce to be one of prod, "
                  f"mean, amax or amin but got {reduce}.")
    dim = check.wrap_dim(dim, input.ndim)
    check_source("index_reduce_()", input, dim, index, source)
    if not index.size:
        return input
    x, source = as_1d(input, source)
    at = tuple(None if isinstance(i, slice) else i for i in along(input, dim, index))
    return _reduced(reduce, x, at, source, include_self).reshape(input.shape)


# combining; ``at`` is a tuple of indices, None for a full slice


def _full(at: tuple) -> tuple:
    return tuple(slice(None) if i is None else i for i in at)


def _at(x, at: tuple):
    return x.at[_full(at)]


def _sum(x, at: tuple, values):
    return add_at(x, _full(at), values)


def _picked(x, at: tuple):
    return _at(x, at).get(mode="promise_in_bounds")


def _reduced(reduce: str, x, at: tuple, values, include_self: bool):
    start = x
    if not include_self:
        touched = _at(jnp.zeros(x.shape, np.bool_), at).set(True, mode="promise_in_bounds")
        start = jnp.where(touched, _identity(reduce, x.dtype), x)
    match reduce:
        case "sum":
            return _sum(start, at, values)
        case "prod":
            return _scatter_prod(start, at, values)
        case "mean":
            return _mean(start, at, values, include_self)
    return _scatter_extreme(reduce, start, x, at, values)


def _identity(reduce: str, dtype):
    if reduce in ("amax", "amin"):
        low = reduce == "amax"
        if jnp.issubdtype(dtype, np.floating):
            return jnp.asarray(-np.inf if low else np.inf, dtype)
        if dtype == np.bool_:
            return jnp.asarray(not low)
        return jnp.asarray(np.iinfo(dtype).min if low else np.iinfo(dtype).max, dtype)
    return jnp.asarray(1 if reduce == "prod" else 0, dtype)


def _mean(start, at: tuple, values, include_self: bool):
    count = _sum(jnp.full(start.shape, int(include_self), np.int32), at, jnp.ones((), np.int32))
    total, count = _sum(start, at, values), jnp.maximum(count, 1).astype(start.dtype)
    return total // count if start.dtype.kind in "iu" else total / count


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _scatter_extreme(reduce: str, start, x, at: tuple, values):
    there = _at(start, at)
    return (there.max if reduce == "amax" else there.min)(values, mode="promise_in_bounds")


@_scatter_extreme.defjvp
def _scatter_extreme_jvp(reduce: str, primals, tangents):
    """Return the tangent, shared by all elements equal to the extreme. PyTorch counts ``x`` even if it is not included."""
    start, x, at, values = primals
    result = _scatter_extreme(reduce, start, x, at, values)
    own, counted = (promotion.cast(a == result, x.dtype) for a in (start, x))
    given = promotion.cast(values == _picked(result, at), x.dtype)
    shared_by = _sum(counted, at, given)
    change = _sum(own * tangents[0], at, given * tangents[3])
    return result, change / jnp.where(shared_by == 0, jnp.ones((), x.dtype), shared_by)


@jax.custom_jvp
def _scatter_prod(x, at: tuple, values):
    if x.dtype == bool:
        return _at(x.astype(np.int32), at).multiply(values.astype(np.int32), mode="promise_in_bounds") != 0
    return _at(x, at).multiply(values, mode="promise_in_bounds")


@_scatter_prod.defjvp
def _scatter_prod_jvp(primals, tangents):
    x, at, values = primals
    _, change = jax.jvp(lambda x, values: _in_two_parts(x, at, values), (x, values), (tangents[0], tangents[2]))
    return _scatter_prod(x, at, values), change


def _in_two_parts(x, at: tuple, values):
    """Return the product of zero factors times the product of other factors, whose derivatives are divisions.

    Zeros are multiplied by their power sums (Newton's identities), which are differentiable at 0. The
    first three derivatives are correct. With more zeros at one element these derivatives are 0.
    """
    one = jnp.ones((), x.dtype)
    others = _scatter_others(jnp.where(x == 0, one, x), at, jnp.where(values == 0, one, values))
    own, given = (jnp.where(a == 0, a, 0 * one) for a in (x, values))
    p1, p2, p3 = (_sum(own ** k, at, given ** k) for k in (1, 2, 3))
    zeros = _sum((x == 0).astype(np.int32), at, (values == 0).astype(np.int32))
    product = jnp.select([zeros == 0, zeros == 1, zeros == 2, zeros == 3],
                         [jnp.ones_like(p1), p1, (p1 ** 2 - p2) / 2, (p1 ** 3 - 3 * p1 * p2 + 2 * p3) / 6], 0 * p1)
    return others * product


@jax.custom_jvp
def _scatter_others(x, at: tuple, values):
    """Return the product of nonzero factors."""
    return _at(x, at).multiply(values, mode="promise_in_bounds")


@_scatter_others.defjvp
def _scatter_others_jvp(primals, tangents):
    x, at, values = primals
    result = _scatter_others(x, at, values)
    return result, _sum(result / x * tangents[0], at, _picked(result, at) / values * tangents[2])
