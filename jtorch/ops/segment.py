"""Reductions of runs of slices. See torch.segment_reduce."""
from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops import check, promotion
from jtorch.ops.registry import OPS, Tensor, op

_SPELLINGS = {"max": "amax", "min": "amin"}
_START = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": -np.inf, "amin": np.inf}


def _bounds(lengths, offsets, axis: int):
    """Return the start of the first segment and the end of each segment, along the last dim."""
    if offsets is not None:
        return offsets.astype(np.int64)
    ends = jnp.cumsum(lengths.astype(np.int64), axis)
    return jnp.concatenate([jnp.zeros_like(ends[..., :1]), ends], axis)


def _wrong_lengths(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    none = jnp.zeros((), jnp.int64)
    if lengths is None or offsets is not None or unsafe:
        return none != 0, none
    negative = jnp.any(lengths < 0)
    short = jnp.any(jnp.sum(lengths, -1) != data.shape[lengths.ndim - 1])
    return negative | short, negative.astype(jnp.int64)


def _lengths_error(detail: int, *args, **options):
    return RuntimeError("lengths contains negative value!" if detail else "segment_reduce(): Expected all rows of lengths along "
                        "axis to sum to data.size(lengths.dim()-1) when !unsafe.")


def _check(data, reduce: str, lengths, indices, offsets, axis: int) -> None:
    check.require(_SPELLINGS.get(reduce, reduce) in _START, "reduce argument must be either sum, prod, mean, amax or amin, got "
                  f"{reduce}")
    check.require(data.size > 0, "segment_reduce(): Expected data to be non-empty") if data.ndim == 0 else None
    check.require(indices is None, "segment_reduce(): indices based reduction is not supported yet.")
    given, name = (offsets, "offsets") if offsets is not None else (lengths, "lengths")
    check.require(given is not None, "segment_reduce(): Either lengths or offsets must be defined.")
    check.require(data.ndim >= given.ndim and axis == given.ndim - 1, f"segment_reduce(): Expected axis to be the last "
                  f"dimension of {name} but got {axis}.")
    check.require(given.dtype.kind in "iu" and given.dtype.itemsize >= 4, f"\"_segment_reduce_{name}_cpu_kernel1\" not "
                  f"implemented for '{check.scalar_name(given.dtype)}'", NotImplementedError)
    check.require(promotion.is_float(data.dtype), f"\"_segment_reduce_cpu\" not implemented for "
                  f"'{check.scalar_name(data.dtype)}'", NotImplementedError)


@op(method=False, value_check=(_wrong_lengths, _lengths_error), out=False, aliases=("_segment_reduce",), loops=True)
def segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
                   offsets: Tensor | None = None, axis: int = 0, unsafe: bool = False, initial: float | None = None):
    """Return the sum, mean, product or extreme of each run of slices along ``axis``. See torch.segment_reduce."""
    axis = check.wrap_dim(axis, data.ndim)
    _check(data, reduce, lengths, indices, offsets, axis)
    reduce = _SPELLINGS.get(reduce, reduce)
    bounds = _bounds(lengths, offsets, axis)
    segments = bounds.shape[-1] - 1
    shape = (*data.shape[:axis], segments + 1, *data.shape[axis + 1:])
    start = jnp.full(shape, _START[reduce] if initial is None else initial, data.dtype)
    at = _broadcast(_segment_of(bounds, data.shape[axis]), axis, data.shape)
    total = _REDUCED[reduce](axis, start, at, data)
    total = jax.lax.slice_in_dim(total, 0, segments, axis=axis)
    return _mean(total, jnp.diff(bounds, axis=-1), axis, initial) if reduce == "mean" else total


def _segment_of(bounds, n: int):
    """Return the segment of each of ``n`` elements. Elements in no segment get the number after the last."""
    def of_row(row):
        found = jnp.searchsorted(row[1:], jnp.arange(n), side="right")
        return jnp.where(jnp.arange(n) < row[0], row.shape[0] - 1, found)
    rows = bounds.reshape(-1, bounds.shape[-1])
    return jax.vmap(of_row)(rows).reshape(*bounds.shape[:-1], n).astype(np.int64)


def _broadcast(x, axis: int, shape: tuple[int, ...]) -> Any:
    return jnp.broadcast_to(x.reshape(x.shape + (1,) * (len(shape) - axis - 1)), (*shape[:axis], x.shape[-1], *shape[axis + 1:]))


def _combined(reduce: str, axis: int, start, at, data):
    """Return ``start`` combined with the elements of each segment."""
    return OPS["scatter_reduce"].body(start, axis, at, data, reduce, include_self=True)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _extreme(reduce: str, axis: int, start, at, data):
    return _combined(reduce, axis, start, at, data)


def _extreme_forward(reduce: str, axis: int, start, at, data):
    result = _extreme(reduce, axis, start, at, data)
    return result, (result, at, data)


def _extreme_backward(reduce: str, axis: int, saved, gradient):
    """Return PyTorch's gradient: NaN counts as an extreme, and only positive gradients are divided among extremes."""
    result, at, data = saved
    extreme = jnp.isnan(data) | (data == jnp.take_along_axis(result, at, axis))
    count = _combined("sum", axis, jnp.zeros(result.shape, np.int64), at, extreme.astype(np.int64))
    given = jnp.where(extreme, jnp.take_along_axis(gradient, at, axis), jnp.zeros((), data.dtype))
    shared_by = jnp.maximum(jnp.take_along_axis(count, at, axis), 1).astype(data.dtype)
    return None, None, jnp.where(given > 0, given / shared_by, given)


_extreme.defvjp(_extreme_forward, _extreme_backward)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _product(axis: int, start, at, data):
    return _combined("prod", axis, start, at, data)


@_product.defjvp
def _product_jvp(axis: int, primals, tangents):
    """Return the tangent, without a division by 0 or NaN."""
    start, at, data = primals
    result = _product(axis, start, at, data)
    special = jnp.isnan(data) | (data == 0)
    quotients = jnp.take_along_axis(result, at, axis) / jnp.where(special, jnp.ones((), data.dtype), data)
    others = jnp.where(special, jnp.take_along_axis(start, at, axis) * _others(data, at, axis), quotients)
    return result, _combined("sum", axis, jnp.zeros_like(result), at, others * tangents[2])


def _others(data, at, axis: int):
    """Return for each element the product of the elements before and after it in its segment."""
    return _before(data, at, axis) * jnp.flip(_before(jnp.flip(data, axis), jnp.flip(at, axis), axis), axis)


def _before(data, at, axis: int):
    """Return for each element the product of the elements before it in its segment."""
    def join(a, b):
        return a[0] | b[0], jnp.where(b[0], b[1], a[1] * b[1])
    n = data.shape[axis]
    first = jnp.concatenate([jnp.ones_like(jax.lax.slice_in_dim(at, 0, 1, axis=axis), np.bool_),
                             jnp.diff(at, axis=axis) != 0], axis) if n else at != at
    _, products = jax.lax.associative_scan(join, (first, data), axis=axis)
    moved = jnp.roll(products, 1, axis)
    return jnp.where(first, jnp.ones((), data.dtype), moved)


_REDUCED: dict[str, Any] = {"sum": partial(_combined, "sum"), "mean": partial(_combined, "sum"), "prod": _product,
                            "amax": partial(_extreme, "amax"), "amin": partial(_extreme, "amin")}


def _mean(total, counts, axis: int, initial):
    """Return sums divided by counts. An empty segment gives ``initial``, or NaN."""
    counts = _broadcast(counts, axis, total.shape)
    empty = jnp.asarray(np.nan, total.dtype) if initial is None else total
    return jnp.where(counts == 0, empty, total / jnp.maximum(counts, 1).astype(total.dtype))
