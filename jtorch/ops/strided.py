"""Reads and writes of a storage's elements through a geometry (size, stride, offset), as pure functions.

A storage is a 1-dim array. A view with nested dims (each step of an outer dim exceeds the extent of the
inner dims) is a chain of reshapes and slices, which XLA fuses and can update in place. Other views
(such as overlapping windows) use computed indices.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import check

Dims = list[tuple[int, int]]     # (size, stride), in order of decreasing strides


def strided_read(flat: jax.Array, size: Sequence[int], stride: Sequence[int], offset: int) -> jax.Array:
    """Return the array of shape ``size`` that a geometry shows of the 1-dim ``flat``."""
    size = tuple(size)
    if 0 in size:
        return jnp.zeros(size, flat.dtype)
    moving = [d for d in range(len(size)) if size[d] > 1 and stride[d] != 0]
    order = sorted(moving, key=lambda d: -stride[d])
    dims = _coalesced([(size[d], stride[d]) for d in order])
    if not _nested(dims):
        return flat.at[indices(size, stride, offset)].get(mode="promise_in_bounds")
    found = _read(flat, dims, offset).reshape([size[d] for d in order])
    if order != moving:
        found = found.transpose([order.index(d) for d in moving])
    found = found.reshape([size[d] if d in moving else 1 for d in range(len(size))])
    return found if found.shape == size else jnp.broadcast_to(found, size)


def extent(size: Sequence[int], stride: Sequence[int]) -> int:
    """Return the extent of a geometry: the number of elements from its first to its last, or 0 if it is empty."""
    return 0 if 0 in size else _reach(list(zip(size, stride, strict=True)))


def require_room(size: Sequence[int], stride: Sequence[int], offset: int, width: int, room: int) -> None:
    """Raise RuntimeError if a geometry with elements of ``width`` bytes reaches beyond ``room`` bytes."""
    needed = 0 if 0 in size else (offset + extent(size, stride)) * width
    if needed > room:
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
                           f"{width} requiring a storage size of {needed} are out of bounds for storage of size {room}")


def is_expanded(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Return whether a nonempty tensor has a dim of stride 0, as after ``expand``."""
    return 0 not in size and any([n > 1 and s == 0 for n, s in zip(size, stride, strict=True)])


@functools.lru_cache(4096)
def overlaps(size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Return whether elements may share memory."""
    reach = 0
    for s, n in sorted([(s, n) for n, s in zip(size, stride, strict=True) if n > 1]):
        if s <= reach:
            return True
        reach += (n - 1) * s
    return False


def strided_write(flat: jax.Array, value: jax.Array, size: Sequence[int], stride: Sequence[int],
                  offset: int) -> jax.Array:
    """Return ``flat`` with the elements of a geometry replaced by ``value``, which has shape ``size`` and flat's dtype."""
    size = tuple(size)
    if 0 in size:
        return flat
    moving = [d for d in range(len(size)) if size[d] > 1]
    order = sorted(moving, key=lambda d: -stride[d])
    dims = _coalesced([(size[d], stride[d]) for d in order])
    if not _nested(dims):
        index = last_wins(indices(size, stride, offset), flat.shape[0])
        return flat.at[index].set(value, mode="drop", unique_indices=True)
    value = value.reshape([size[d] for d in moving])
    if order != moving:
        value = value.transpose([moving.index(d) for d in order])
    return _write(flat, value.reshape([n for n, _ in dims]), dims, offset)


def last_wins(index: jax.Array, count: int) -> jax.Array:
    """Return ``index`` (numbers below ``count``) with all but the last occurrence of a number replaced by numbers from ``count``.

    The result is unique, so a scatter with ``mode="drop", unique_indices=True`` is deterministic on all devices.
    """
    dtype = np.dtype(np.int32 if count + index.size < 2**31 else np.int64)
    index, turn = index.astype(dtype), jnp.arange(index.size, dtype=dtype).reshape(index.shape)
    last = jnp.full(count, -1, dtype).at[index].max(turn, mode="promise_in_bounds")
    return jnp.where(last.at[index].get(mode="promise_in_bounds") == turn, index, count + turn)


def reinterpret(flat: jax.Array, dtype: np.dtype) -> jax.Array:
    """Reinterpret the bytes of ``flat`` along its last dim as ``dtype``. A complex element is two real ones."""
    dtype = np.dtype(dtype)
    if flat.dtype == dtype:
        return flat
    if flat.dtype.kind == "c":
        return reinterpret(_merge_last(jnp.stack([flat.real, flat.imag], -1)), dtype)
    if dtype.kind == "c":
        pairs = _split_last(reinterpret(flat, np.zeros((), dtype).real.dtype), 2)
        return lax.complex(pairs[..., 0], pairs[..., 1])
    if flat.dtype == np.bool_:
        return reinterpret(flat.astype(np.uint8), dtype)
    if dtype == np.bool_:
        return reinterpret(flat, np.dtype(np.uint8)) != 0
    if dtype.itemsize > flat.dtype.itemsize:
        flat = _split_last(flat, dtype.itemsize // flat.dtype.itemsize)
    found = lax.bitcast_convert_type(flat, dtype)
    return _merge_last(found) if found.ndim > flat.ndim else found


def contiguous_strides(size: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor. A size of 0 counts as 1."""
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def require_not_expanded(size: Sequence[int], stride: Sequence[int]) -> None:
    """Raise RuntimeError if a geometry is expanded, so that a write is ambiguous."""
    if is_expanded(size, stride):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory "
                           "location. Please clone() the tensor before performing the operation.")


def is_contiguous(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Return whether a geometry is contiguous."""
    expected = 1
    for n, s in zip(reversed(size), reversed(stride), strict=True):
        if n != 1:
            if s != expected and 0 not in size:
                return False
            expected *= n
    return True


def is_non_overlapping_and_dense(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Return whether some permutation of the dims is contiguous. Empty geometries are."""
    if 0 in size:
        return True
    expected = 1
    for s, n in sorted((s, n) for n, s in zip(size, stride, strict=True) if n > 1):
        if s != expected:
            return False
        expected *= n
    return True


def compute_view_stride(size: Sequence[int], stride: Sequence[int], new_size: Sequence[int]) -> tuple[int, ...] | None:
    """Return the strides of a view with size ``new_size`` and the same order of elements, or None if a copy is needed."""
    if math.prod(size) == 0:
        return tuple(stride) if tuple(size) == tuple(new_size) else contiguous_strides(new_size)
    chunks = _chunks(size, stride)
    new_stride, view_d = [], len(new_size) - 1
    for numel, base in chunks:
        taken = 1
        while view_d >= 0 and (taken < numel or new_size[view_d] == 1):
            new_stride.append(taken * base)
            taken *= new_size[view_d]
            view_d -= 1
        if taken != numel:
            return None
    return tuple(reversed(new_stride)) if view_d == -1 else None


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """Return ``shape`` with its -1 inferred for ``numel`` elements. Raise RuntimeError if they do not fit."""
    shape = tuple(shape)
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    for i, n in enumerate(shape):
        check.require(n >= -1, f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
    known = math.prod(n for n in shape if n != -1)
    if -1 not in shape:
        check.require(known == numel, f"shape '{list(shape)}' is invalid for input of size {numel}")
        return shape
    check.require(known != 0 or numel != 0, f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
                  "unspecified dimension size -1 can be any value and is ambiguous")
    check.require(known != 0 and numel % known == 0, f"shape '{list(shape)}' is invalid for input of size {numel}")
    return tuple(numel // known if n == -1 else n for n in shape)


def _chunks(size: Sequence[int], stride: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of dims, from the last, that are equivalent to one dim, as (number of elements, stride of the last dim)."""
    if not size:
        return [(1, 1)]
    chunks, numel, base = [], 1, stride[-1]
    for d in range(len(size) - 1, -1, -1):
        numel *= size[d]
        if d == 0 or (size[d - 1] != 1 and stride[d - 1] != numel * base):
            chunks.append((numel, base))
            numel, base = 1, stride[d - 1]
    return chunks


def _coalesced(dims: Dims) -> Dims:
    """Merge neighbouring dims that are equivalent to one dim."""
    out: Dims = []
    for n, s in dims:
        if out and out[-1][1] == n * s:
            out[-1] = (out[-1][0] * n, s)
        else:
            out.append((n, s))
    return out


def _reach(dims: Dims) -> int:
    """Return the number of elements from the first to the last that the dims show, both included."""
    return 1 + sum((n - 1) * s for n, s in dims)


def _nested(dims: Dims) -> bool:
    return all(s >= _reach(dims[i + 1:]) for i, (_, s) in enumerate(dims))


def indices(size: tuple[int, ...], stride: Sequence[int], offset: int) -> jax.Array:
    """Return the position in memory of each element of a geometry."""
    end = offset + _reach(list(zip(size, stride, strict=True)))
    dtype = np.dtype(np.int32 if end < 2**31 else np.int64)
    index = jnp.full(size, offset, dtype)
    for d, s in enumerate(stride):
        index = index + lax.broadcasted_iota(dtype, size, d) * dtype.type(s)
    return index


def _blocks(dims: Dims, start: int) -> tuple[int, int]:
    """Return the start of the outermost dim's blocks, and the position of its elements in a block.

    Blocks start at multiples of the stride if no element then crosses a block's end. For columns of a matrix the blocks are its
    rows, which need no padding.
    """
    s, inner = dims[0][1], dims[1:]
    within = start % s
    return (start - within, within) if within + _reach(inner) <= s else (start, 0)


def _read(x: jax.Array, dims: Dims, start: int) -> jax.Array:
    """Return a strided part of the last axis of ``x``: axes of the (size, stride) in ``dims``, from the offset ``start``."""
    if not dims:
        return lax.index_in_dim(x, start, -1, keepdims=False)
    n, s = dims[0]
    if s == 1:
        return lax.slice_in_dim(x, start, start + n, axis=-1)
    begin, within = _blocks(dims, start)
    if len(dims) == 1 and begin + n * s > x.shape[-1]:
        return lax.slice_in_dim(x, start, start + (n - 1) * s + 1, s, axis=-1)
    return _read(_cut(x, begin, n, s), dims[1:], within)


def _write(x: jax.Array, value: jax.Array, dims: Dims, start: int) -> jax.Array:
    """Return ``x`` with the elements that ``_read`` returns replaced by ``value``."""
    if not dims:
        return _put(x, value[..., None], start)
    n, s = dims[0]
    if s == 1:
        return _put(x, value, start)
    begin, within = _blocks(dims, start)
    if len(dims) == 1 and begin + n * s > x.shape[-1]:
        return _put_strided(x, value, start, s)
    blocks = _write(_cut(x, begin, n, s), value, dims[1:], within)
    return _put(x, _merge_last(blocks)[..., :x.shape[-1] - begin], begin)


def _cut(x: jax.Array, begin: int, n: int, s: int) -> jax.Array:
    """Return ``n`` blocks of ``s`` elements of the last axis. The last block is padded if the axis ends inside it."""
    end = begin + n * s
    x = lax.slice_in_dim(x, begin, min(end, x.shape[-1]), axis=-1)
    if x.shape[-1] < n * s:
        x = lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0)] * (x.ndim - 1) + [(0, n * s - x.shape[-1], 0)])
    return x.reshape(*x.shape[:-1], n, s)


def _put(x: jax.Array, value: jax.Array, start: int) -> jax.Array:
    if value.shape == x.shape:
        return value
    index = np.int32 if x.size < 2 ** 31 else np.int64      # typed, since 64-bit ints are off where JAX differentiates this
    return lax.dynamic_update_slice(x, value, [index(0)] * (x.ndim - 1) + [index(start)])


def _put_strided(x: jax.Array, value: jax.Array, start: int, step: int) -> jax.Array:
    """Write elements at distance ``step`` by a select over their range. XLA fuses it; a strided update would be a scatter."""
    spread = lax.pad(value, jnp.zeros((), x.dtype), [(0, 0, 0)] * (x.ndim - 1) + [(0, 0, step - 1)])
    old = lax.slice_in_dim(x, start, start + spread.shape[-1], axis=-1)
    hit = lax.broadcasted_iota(np.int32, spread.shape, spread.ndim - 1) % np.int32(step) == 0
    return _put(x, jnp.where(hit, spread, old), start)


def _merge_last(x: jax.Array) -> jax.Array:
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])


def _split_last(x: jax.Array, n: int) -> jax.Array:
    return x.reshape(*x.shape[:-1], x.shape[-1] // n, n)
