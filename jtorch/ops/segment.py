"""Reductions of runs of slices. See torch.segment_reduce."""
from __future__ import annotations

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
    how = "sum" if reduce == "mean" else reduce
    total = OPS["scatter_reduce"].body(start, axis, at, data, how, include_self=True)
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


def _mean(total, counts, axis: int, initial):
    """Return sums divided by counts. An empty segment gives ``initial``, or NaN."""
    counts = _broadcast(counts, axis, total.shape)
    empty = jnp.asarray(np.nan, total.dtype) if initial is None else total
    return jnp.where(counts == 0, empty, total / jnp.maximum(counts, 1).astype(total.dtype))
