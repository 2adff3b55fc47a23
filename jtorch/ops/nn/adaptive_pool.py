"""Pooling to a given size, and the inverse of max pooling. See torch.nn.functional.adaptive_avg_pool2d."""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import check
from jtorch.ops.elementwise import widen
from jtorch.ops.facts import Saves
from jtorch.ops.layout import AS_FIRST_SUGGESTS
from jtorch.ops.nn._common import functional, ntuple, require_float
from jtorch.ops.nn.window_max import window_maximum
from jtorch.ops.registry import Tensor


def _sizes(x: jax.Array, n: int, output_size, name: str) -> tuple[int, ...]:
    """Return ``output_size`` for each dimension; None keeps the input's size."""
    if not isinstance(output_size, (tuple, list)):
        output_size = (output_size,) * n
    elif n == 1:
        count = len(output_size)
        check.require(count == 1, f"{name}() argument 'output_size' should contain one int (got {count})")
    else:
        check.require(x.ndim > len(output_size), "Input dimension should be at least "
                      f"{len(output_size) + 1}", ValueError)
        label = f"{name}(): internal error: output_size.size()" if "max" in name else f"{name}: output_size"
        check.require(len(output_size) in (1, n), f"{label} must be {n}")
        output_size = tuple(output_size) * n if len(output_size) == 1 else output_size
    check.require(x.ndim >= n, f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got {list(x.shape)}")
    return tuple(int(s) if o is None else o for o, s in zip(output_size, x.shape[-n:], strict=True))


def _bounds(size: int, out: int) -> tuple[np.ndarray, np.ndarray]:
    i = np.arange(out)
    return i * size // out, -((-(i + 1) * size) // out)


def _negative(x: jax.Array, n: int, name: str, out: tuple[int, ...]) -> str:
    out = (1, *out) if n == 1 else out      # PyTorch computes 1-dim pooling as 2-dim pooling
    if "max" in name:
        return f"Trying to create tensor with negative dimension {min(out)}: {[*x.shape[:-n], *out]}"
    received = ", ".join(map(str, out[:2])) + "".join(f",{o}" for o in out[2:])
    return (f"{name.replace('1d', '2d')}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{received}}}")


def _check(x: jax.Array, n: int, name: str, out: tuple[int, ...], colon: str) -> None:
    if n == 1 and x.ndim not in (2, 3):
        raise RuntimeError(f"Expected 2 to 3 dimensions, but got {x.ndim}-dimensional tensor for argument #1 'self' "
                      f"(while checking arguments for {name})")
    check.require(x.ndim in (n + 1, n + 2), f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} "
                  f"{list(x.shape)}")
    check.require(min(out) >= 0, _negative(x, n, name, out))
    check.storable((*x.shape[:-n], *((1, *out) if n == 1 else out)), x.dtype)
    for i in range(1, x.ndim):
        check.require(x.shape[i] > 0, f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                      f"input has sizes {list(x.shape)} with dimension {i} being empty")


def _mean_along(x: jax.Array, axis: int, out: int) -> jax.Array:
    size = x.shape[axis]
    if out and size % out == 0:
        return jnp.mean(x.reshape(x.shape[:axis] + (out, size // out) + x.shape[axis + 1:]), axis=axis + 1)
    start, stop = _bounds(size, out)
    at = start[:, None] + np.arange(int((stop - start).max()) if out else 1)
    shape = (1,) * axis + at.shape + (1,) * (x.ndim - axis - 1)
    inside, counts = (at < stop[:, None]).reshape(shape), (stop - start).reshape(*shape[:axis + 1], *shape[axis + 2:])
    parts = jnp.take(x, np.minimum(at, size - 1), axis=axis, mode="clip")
    return jnp.sum(jnp.where(inside, parts, 0), axis + 1) / jnp.asarray(counts, x.dtype)


def adaptive_mean(n: int, input: jax.Array, output_size) -> jax.Array:
    """Return the means over ``output_size`` parts of each of the last ``n`` dims. A start is rounded down, an end up."""
    name = f"adaptive_avg_pool{n}d"
    out = _sizes(input, n, output_size, name)
    _check(input, n, name, out, "")
    require_float(input, f"adaptive_avg_pool{max(n, 2)}d")
    x = widen(input)
    for i in range(n):
        x = _mean_along(x, x.ndim - n + i, out[i])
    return x.astype(input.dtype)


@functional(aliases=("adaptive_avg_pool1d",), backward_name="SqueezeBackward1",
    saves=Saves(frees=lambda template, edges: template[1] not in (1, (1,))))
def adaptive_avg_pool1d(input: Tensor, output_size: int | tuple[int, ...]):
    """Return means of ``output_size`` parts of the last dimension. See torch.nn.functional.adaptive_avg_pool1d."""
    return adaptive_mean(1, input, output_size)


@functional(backward_name=lambda t: "MeanBackward1" if t[1] in (1, (1, 1)) else "AdaptiveAvgPool2DBackward0",
    layout=AS_FIRST_SUGGESTS)
def adaptive_avg_pool2d(input: Tensor, output_size: int | tuple[int | None, ...]):
    """Return means of parts of the last two dimensions. See torch.nn.functional.adaptive_avg_pool2d."""
    return adaptive_mean(2, input, output_size)


@functional(backward_name=lambda t: "MeanBackward1" if t[1] in (1, (1, 1, 1)) else "AdaptiveAvgPool3DBackward0")
def adaptive_avg_pool3d(input: Tensor, output_size: int | tuple[int | None, ...]):
    """Return means of parts of the last three dimensions. See torch.nn.functional.adaptive_avg_pool3d."""
    return adaptive_mean(3, input, output_size)


def _adaptive_max(n: int, input: jax.Array, output_size, return_indices: bool):
    name = f"adaptive_max_pool{n}d"
    out = _sizes(input, n, output_size, name)
    _check(input, n, name, out, ":")
    require_float(input, f"adaptive_max_pool{max(n, 2)}d")
    at, inside = [], []
    for size, o in zip(input.shape[-n:], out, strict=True):
        start, stop = _bounds(size, o)
        longest = int((stop - start).max()) if o else 1
        at.append(start[:, None] + np.arange(longest))
        inside.append(at[-1] < stop[:, None])
    values, indices = window_maximum(input, at, inside)
    return (values, indices) if return_indices else values


@functional(aliases=("adaptive_max_pool1d",), backward_name="SqueezeBackward1")
def adaptive_max_pool1d(input: Tensor, output_size: int | tuple[int, ...], return_indices: bool = False):
    """Return maxima of ``output_size`` parts of the last dimension. See torch.nn.functional.adaptive_max_pool1d."""
    return _adaptive_max(1, input, output_size, return_indices)


@functional(backward_name="AdaptiveMaxPool2DBackward0", layout=AS_FIRST_SUGGESTS)
def adaptive_max_pool2d(input: Tensor, output_size: int | tuple[int | None, ...], return_indices: bool = False):
    """Return maxima of parts of the last two dimensions. See torch.nn.functional.adaptive_max_pool2d."""
    return _adaptive_max(2, input, output_size, return_indices)


@functional(backward_name="AdaptiveMaxPool3DBackward0")
def adaptive_max_pool3d(input: Tensor, output_size: int | tuple[int | None, ...], return_indices: bool = False):
    """Return maxima of parts of the last three dimensions. See torch.nn.functional.adaptive_max_pool3d."""
    return _adaptive_max(3, input, output_size, return_indices)


def _unpool_size(n: int, shape, kernel, stride, padding, output_size) -> tuple[int, ...]:
    kernel = ntuple(kernel, n, "kernel_size", f"max_unpool{n}d")
    stride = kernel if stride is None else ntuple(stride, n, "stride", f"max_unpool{n}d")
    padding = ntuple(padding, n, "padding", f"max_unpool{n}d")
    default = tuple((shape[d - n] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(n))
    if output_size is None:
        return default
    size = tuple(output_size)[-n:] if len(output_size) == n + 2 else tuple(output_size)
    check.require(len(size) == n, f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a "
                  f"length of '{len(size)}'", ValueError)
    for d in range(n):
        low, high = default[d] - stride[d], default[d] + stride[d]
        check.require(low < size[d] < high, f'invalid output_size "{size}" (dim {d} must be between {low} and {high})',
                      ValueError)
    return size


def _check_unpool(n: int, input: jax.Array, indices: jax.Array) -> None:
    check.require(indices.dtype == jnp.int64, "elements in indices should be type int64 but got: "
                  f"{check.scalar_name(indices.dtype)}")
    check.require(input.ndim in (n + 1, n + 2), f"Input to max_unpooling{n}d should be a {n + 1}d or {n + 2}d Tensor, "
                  f"but got a tensor with {input.ndim} dimensions.")
    one = [1] if n == 1 else []      # PyTorch computes the 1-dim form as 2-dim
    check.require(input.shape == indices.shape, "Expected shape of indices to be same as that of the input tensor "
                  f"({[*input.shape, *one]}) but got indices tensor with shape: {[*indices.shape, *one]}")


def _unpool(n: int, input, indices, kernel, stride, padding, output_size) -> jax.Array:
    _check_unpool(n, input, indices)
    size = _unpool_size(n, input.shape, kernel, stride, padding, output_size)
    lead = input.shape[:-n]
    values, at = (x.reshape(math.prod(lead), math.prod(input.shape[-n:])) for x in (input, indices))
    rows = jnp.arange(values.shape[0])[:, None]
    flat = jnp.zeros((values.shape[0], math.prod(size)), input.dtype)
    # if an index repeats, the last value remains, but each value gets the gradient
    total, last = flat.at[rows, at].add(values, mode="drop"), flat.at[rows, at].set(values, mode="drop")
    return (total + lax.stop_gradient(last - total)).reshape(*lead, *size)


def _unpool_check(n: int):
    def flag(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        area = math.prod(_unpool_size(n, input.shape, kernel_size, stride, padding, output_size))
        flat = indices.reshape(-1)
        wrong = (flat < 0) | (flat >= area)
        return jnp.any(wrong), flat[jnp.argmax(wrong)] if flat.size else jnp.zeros((), jnp.int64)

    def error(detail: int, input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Exception:
        size = _unpool_size(n, input.shape, kernel_size, stride, padding, output_size)
        *first, width = (1, *size) if n == 1 else size
        where = f"{math.prod(first)}x{width}" if n < 3 else "x".join(map(str, size))
        return RuntimeError(f"Found an invalid max index: {detail} (output volumes are of size {where}")

    return flag, error


@functional(backward_name="SqueezeBackward1", value_check=_unpool_check(1))
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: int | tuple[int, ...],
                 stride: int | tuple[int, ...] | None = None, padding: int | tuple[int, ...] = 0,
                 output_size: tuple[int, ...] | None = None):
    """Return maxima put back where max_pool1d found them, with 0 elsewhere. See torch.nn.functional.max_unpool1d."""
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


@functional(backward_name="MaxUnpool2DBackward0", value_check=_unpool_check(2), layout=AS_FIRST_SUGGESTS)
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: int | tuple[int, ...],
                 stride: int | tuple[int, ...] | None = None, padding: int | tuple[int, ...] = 0,
                 output_size: tuple[int, ...] | None = None):
    """Return maxima put back where max_pool2d found them, with 0 elsewhere. See torch.nn.functional.max_unpool2d."""
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


@functional(backward_name="MaxUnpool3DBackward0", value_check=_unpool_check(3))
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: int | tuple[int, ...],
                 stride: int | tuple[int, ...] | None = None, padding: int | tuple[int, ...] = 0,
                 output_size: tuple[int, ...] | None = None):
    """Return maxima put back where max_pool3d found them, with 0 elsewhere. See torch.nn.functional.max_unpool3d."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)
