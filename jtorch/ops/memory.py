"""Reads and writes of a storage's content through a view's geometry, as ops, so that records and gradients know them."""
from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops import promotion
from jtorch.ops.check import broadcast_shapes
from jtorch.ops.layout import LIKE_FIRST
from jtorch.ops.registry import Tensor, Tensors, op
from jtorch.ops.strided import (
    extent,
    indices,
    is_contiguous,
    last_wins,
    overlaps,
    reinterpret,
    require_not_expanded,
    require_room,
    strided_read,
    strided_write,
)


def _seen_as(flat: jax.Array, dtype: np.dtype) -> jax.Array:
    """Memory as elements of a dtype; what is left over at the end of a wider one is not shown."""
    return flat if flat.dtype == dtype else reinterpret(flat[:_fitting(flat, dtype)], dtype)


def _fitting(flat: jax.Array, dtype: np.dtype) -> int:
    """How many elements at the start are whole elements of another dtype."""
    width, own = np.dtype(dtype).itemsize, flat.dtype.itemsize
    return flat.size * own // width * width // own


def _written(flat: jax.Array, value: jax.Array, size: tuple[int, ...], stride: tuple[int, ...], offset: int,
             dtype: np.dtype) -> jax.Array:
    """Memory after a write of elements of a dtype."""
    require_room(size, stride, offset, np.dtype(dtype).itemsize, flat.size * flat.dtype.itemsize)
    made = strided_write(_seen_as(flat, dtype), value.astype(dtype), size, stride, offset)
    if flat.dtype == dtype:
        return made
    whole, made = _fitting(flat, dtype), reinterpret(made, flat.dtype)
    return made if whole == flat.size else jnp.concatenate([made, flat[whole:]])


@op(name="_read_view", function=False, method=False, out=False, saves="none", backward_name="AsStridedBackward0", tested=False)
def read_view(content: Tensor, size: tuple[int, ...], stride: tuple[int, ...], offset: int, dtype: np.dtype):
    """What a view of this geometry shows of a storage's content."""
    return strided_read(_seen_as(content.reshape(-1), dtype), size, stride, offset)


@op(name="_write_view", function=False, method=False, out=False, saves="none", backward_name="CopySlices", tested=False)
def write_view(content: Tensor, value: Tensor, size: tuple[int, ...], stride: tuple[int, ...], offset: int,
               dtype: np.dtype):
    """A storage's content after a write through a view of this geometry."""
    return _written(content.reshape(-1), value, size, stride, offset, dtype).reshape(content.shape)


@op(name="_write_through", function=False, method=False, out=False, saves="none", backward_name="CopySlices", tested=False)
def write_through(base: Tensor, value: Tensor, base_size: tuple[int, ...], base_stride: tuple[int, ...],
                  size: tuple[int, ...], stride: tuple[int, ...], offset: int, dtype: np.dtype):
    """What the base of a view shows after a write through the view, whose offset counts from the base's start."""
    dense = is_contiguous(base_size, base_stride)
    require_not_expanded(base_size, base_stride)
    flat = base.reshape(-1) if dense else _spread(base, base_size, base_stride)
    if offset < 0:      # the base has been moved by ``set_``
        require_room(size, stride, 0, np.dtype(dtype).itemsize, flat.size * flat.dtype.itemsize)
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    flat = _written(flat, value, size, stride, offset, dtype)
    return flat.reshape(base_size) if dense else strided_read(flat, base_size, base_stride, 0)


def _spread(base: jax.Array, size: tuple[int, ...], stride: tuple[int, ...]) -> jax.Array:
    """The base's elements laid out in memory as its strides say; those that are one place share its gradient."""
    lay = _share if overlaps(size, stride) else _lay
    return lay(base, size, stride)


def _lay(base: jax.Array, size: tuple[int, ...], stride: tuple[int, ...]) -> jax.Array:
    return strided_write(jnp.zeros((extent(size, stride),), base.dtype), base, size, stride, 0)


_share = partial(jax.custom_jvp, nondiff_argnums=(1, 2))(_lay)


@_share.defjvp
def _(size, stride, primals, tangents):
    at = indices(size, stride, 0)
    count = jnp.zeros((extent(size, stride),), tangents[0].real.dtype).at[at].add(1)
    change = jnp.zeros(count.shape, tangents[0].dtype).at[at].add(tangents[0]) / jnp.maximum(count, 1)
    return _lay(primals[0], size, stride), change


@op(name="_to_dtype", function=False, method=False, out=False, saves="none", backward_name="ToCopyBackward0",
    tested=False, layout=LIKE_FIRST)
def to_dtype(input: Tensor, dtype: np.dtype):
    """The elements cast as PyTorch casts them: complex to real drops the imaginary part, floats truncate to integers."""
    if dtype == np.bool_:
        return input != jnp.zeros((), input.dtype)
    return promotion.cast(input.real if promotion.drops_imaginary(input.dtype, dtype) else input, dtype)


@op(function=True, saves="none", out=False, layout=LIKE_FIRST)
def clone(input: Tensor):
    """A copy that gradients flow through. See torch.clone."""
    return jnp.array(input)


@op(name="_read_through", function=False, method=False, out=False, saves="none", backward_name="AsStridedBackward0",
    tested=False, through_storage=True)
def read_through(base: Tensor, base_size: tuple[int, ...], base_stride: tuple[int, ...], size: tuple[int, ...],
                 stride: tuple[int, ...], offset: int, dtype: np.dtype):
    """What a view of the base shows, its offset counted from the base's start; zeros for what the base does not show."""
    flat = base.reshape(-1) if is_contiguous(base_size, base_stride) else _spread(base, base_size, base_stride)
    flat = _seen_as(flat, dtype)
    before, end = max(0, -offset), offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if before or end > flat.size:
        flat = jnp.pad(flat, (before, max(0, end - flat.size)))
    return strided_read(flat, size, stride, offset + before)


@op(name="_copy_into", function=False, method=False, out=False, saves="none", backward_name="CopyBackwards", tested=False)
def copy_into(src: Tensor, shape: tuple[int, ...], dtype: np.dtype):
    """``src`` broadcast to a shape and cast, as ``copy_`` writes it."""
    both = broadcast_shapes(shape, src.shape)
    if both != shape:
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(both)}")
    return jnp.broadcast_to(to_dtype(src, dtype), shape)


@op(name="_copy_over", function=False, method=False, out=False, saves="none", backward_name="CopyBackwards", tested=False)
def copy_over(input: Tensor, src: Tensor):
    """``_copy_into`` with what is written over, whose gradient is 0."""
    return copy_into(src, input.shape, input.dtype)


@op(name="_merged", function=False, method=False, out=False, saves="none", differentiable=False, tested=False)
def merged(before: Tensor, after: Tensor, stride: tuple[int, ...], adds: bool):
    """What a write left in memory that is shown several times: the last change of a place counts, or (``adds``) all do."""
    size = after.shape
    span = extent(size, stride)
    flat, index = strided_write(jnp.zeros((span,), before.dtype), before, size, stride, 0), indices(size, stride, 0)
    if adds:
        return strided_read(flat.at[index].add(after - before, mode="promise_in_bounds"), size, stride, 0)
    changed = (before != after) & ((before == before) | (after == after))
    index = last_wins(jnp.where(changed, index, span), span + 1)
    return strided_read(flat.at[index].set(after, mode="drop", unique_indices=True), size, stride, 0)


@op(name="_zero_of", function=False, method=False, out=False, saves="none", tested=False)
def zero_of(tensors: Tensors):
    """Zeros like the first tensor, and gradients of 0 for all of them."""
    return jnp.zeros_like(tensors[0])
