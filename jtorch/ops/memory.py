"""Reads and writes of a storage's content through a view's geometry, as ops that can be recorded and differentiated."""
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
    """Return memory reinterpreted with a dtype, without an incomplete last element."""
    return flat if flat.dtype == dtype else reinterpret(flat[:_fitting(flat, dtype)], dtype)


def _fitting(flat: jax.Array, dtype: np.dtype) -> int:
    """Return how many elements at the start make whole elements of another dtype."""
    width, own = np.dtype(dtype).itemsize, flat.dtype.itemsize
    return flat.size * own // width * width // own


def _written(flat: jax.Array, value: jax.Array, size: tuple[int, ...], stride: tuple[int, ...], offset: int,
             dtype: np.dtype) -> jax.Array:
    """Return the memory after a write of elements of a dtype."""
    require_room(size, stride, offset, np.dtype(dtype).itemsize, flat.size * flat.dtype.itemsize)
    made = strided_write(_seen_as(flat, dtype), value.astype(dtype), size, stride, offset)
    if flat.dtype == dtype:
        return made
    whole, made = _fitting(flat, dtype), reinterpret(made, flat.dtype)
    return made if whole == flat.size else jnp.concatenate([made, flat[whole:]])


@op(name="_read_view", function=False, method=False, out=False, saves="none", backward_name="AsStridedBackward0", tested=False)
def read_view(content: Tensor, size: tuple[int, ...], stride: tuple[int, ...], offset: int, dtype: np.dtype):
    """Return the elements of a storage's content that a view of this geometry shows."""
    return strided_read(_seen_as(content.reshape(-1), dtype), size, stride, offset)


@op(name="_write_view", function=False, method=False, out=False, saves="none", backward_name="CopySlices", tested=False)
def write_view(content: Tensor, value: Tensor, size: tuple[int, ...], stride: tuple[int, ...], offset: int,
               dtype: np.dtype):
    """Return a storage's content after a write through a view of this geometry."""
    return _written(content.reshape(-1), value, size, stride, offset, dtype).reshape(content.shape)


@op(name="_write_through", function=False, method=False, out=False, saves="none", backward_name="CopySlices", tested=False)
def write_through(base: Tensor, value: Tensor, base_size: tuple[int, ...], base_stride: tuple[int, ...],
                  size: tuple[int, ...], stride: tuple[int, ...], offset: int, dtype: np.dtype):
    """Return the base of a view after a write through the view, whose offset counts from the base's first element."""
    dense = is_contiguous(base_size, base_stride)
    require_not_expanded(base_size, base_stride)
    flat = base.reshape(-1) if dense else _spread(base, base_size, base_stride)
    if offset < 0:      # ``set_`` has moved the base
        require_room(size, stride, 0, np.dtype(dtype).itemsize, flat.size * flat.dtype.itemsize)
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    flat = _written(flat, value, size, stride, offset, dtype)
    return flat.reshape(base_size) if dense else strided_read(flat, base_size, base_stride, 0)


def _spread(base: jax.Array, size: tuple[int, ...], stride: tuple[int, ...]) -> jax.Array:
    """Return the base's elements in the order of its memory. Elements that share memory share its gradient."""
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
    """Return the elements cast as PyTorch casts them: complex to real drops the imaginary part, floats truncate to integers."""
    if dtype == np.bool_:
        return input != jnp.zeros((), input.dtype)
    return promotion.cast(input.real if promotion.drops_imaginary(input.dtype, dtype) else input, dtype)


@op(function=True, saves="none", out=False, layout=LIKE_FIRST)
def clone(input: Tensor):
    """Return a copy that gradients flow through. See torch.clone."""
    return jnp.array(input)


@op(name="_read_through", function=False, method=False, out=False, saves="none", backward_name="AsStridedBackward0",
    tested=False, through_storage=True)
def read_through(base: Tensor, base_size: tuple[int, ...], base_stride: tuple[int, ...], size: tuple[int, ...],
                 stride: tuple[int, ...], offset: int, dtype: np.dtype):
    """Return what a view of the base shows, with zeros outside the base. The offset counts from the base's first element."""
    flat = base.reshape(-1) if is_contiguous(base_size, base_stride) else _spread(base, base_size, base_stride)
    flat = _seen_as(flat, dtype)
    before, end = max(0, -offset), offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if before or end > flat.size:
        flat = jnp.pad(flat, (before, max(0, end - flat.size)))
    return strided_read(flat, size, stride, offset + before)


@op(name="_copy_into", function=False, method=False, out=False, saves="none", backward_name="CopyBackwards", tested=False)
def copy_into(src: Tensor, shape: tuple[int, ...], dtype: np.dtype):
    """Return ``src`` broadcast to a shape and cast, as ``copy_`` writes it."""
    both = broadcast_shapes(shape, src.shape)
    if both != shape:
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(both)}")
    return jnp.broadcast_to(to_dtype(src, dtype), shape)


@op(name="_copy_over", function=False, method=False, out=False, saves="none", backward_name="CopyBackwards", tested=False)
def copy_over(input: Tensor, src: Tensor):
    """Return what ``copy_into`` returns. The overwritten tensor is an argument, so that it gets a gradient of 0."""
    return copy_into(src, input.shape, input.dtype)


@op(name="_merged", function=False, method=False, out=False, saves="none", differentiable=False, tested=False)
def merged(before: Tensor, after: Tensor, stride: tuple[int, ...], adds: bool):
    """Return the content after a write to elements that share memory: the last change counts, or with ``adds`` the sum."""
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
    """Return zeros like the first tensor, with gradients of 0 for all tensors."""
    return jnp.zeros_like(tensors[0])
