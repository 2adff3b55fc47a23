"""Pooling with windows of one size. See https://docs.pytorch.org/docs/stable/nn.functional.html#pooling-functions.

Each tap of the window is one strided slice of the padded input. XLA fuses the slices to one loop,
the first of equal maxima wins as in PyTorch, and backward is the slices' transpose instead of a scatter.
"""
from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import check, promotion
from jtorch.ops.elementwise import widen
from jtorch.ops.layout import AS_FIRST_SUGGESTS
from jtorch.ops.nn._common import clamp_min, functional, magnitude, not_implemented, ntuple
from jtorch.ops.nn.window_max import lowest, window_maximum
from jtorch.ops.registry import Tensor

_COUNT = {1: "one int", 2: "two ints", 3: "three ints"}
_MANY_TAPS = 64


@dataclass(frozen=True)
class Windows:
    """The windows of a pooling, for each spatial dimension."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    out: tuple[int, ...]


def _tuple(value, n: int, name: str, op_name: str) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    check.require(len(values) in (1, n), f"{op_name}: {name} must either be a single int, or a tuple of {_COUNT[n]}"
                  if name == "kernel_size" else f"{op_name}: {name} must either be omitted, a single int, or a tuple "
                  f"of {_COUNT[n]}" if name == "stride" else f"{op_name}: {name} must be either be a single int, or a "
                  f"tuple of {_COUNT[n]}")
    return values * n if len(values) == 1 else values


def _out_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    out = (size + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)) // stride + 1
    # the last window of ceil_mode must start inside the input or its left padding
    return out - 1 if ceil_mode and (out - 1) * stride >= size + padding else out


def _windows(x: jax.Array, n: int, name: str, kernel, stride, padding, dilation, ceil_mode: bool) -> Windows:
    kernel = _tuple(kernel, n, "kernel_size", name)
    stride = kernel if stride is None or stride == () else _tuple(stride, n, "stride", name)
    padding, dilation = _tuple(padding, n, "padding", name), _tuple(dilation, n, "dilation", name)
    check.require(all(s != 0 for s in stride), "stride should not be zero")
    check.require(all(p >= 0 for p in padding), f"pad must be non-negative, but got pad: {min(padding)}")
    _check_window(n, kernel, padding, dilation)
    out = tuple(_out_size(*each, ceil_mode)
                for each in zip(x.shape[-n:], kernel, stride, padding, dilation, strict=True))
    return Windows(kernel, stride, padding, dilation, out)


def _check_window(n: int, kernel, padding, dilation) -> None:
    text = " ".join(f"dilation{c}: {d}" for c, d in zip("THW"[-n:], dilation, strict=True))
    check.require(all(d > 0 for d in dilation), f"dilation should be greater than zero, but got {text}")
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        check.require(p <= ((k - 1) * d + 1) // 2, "pad should be at most half of effective kernel size, but got "
                      f"pad={p}, kernel_size={k} and dilation={d}")


def _check_output(x: jax.Array, n: int, w: Windows) -> None:
    by = "x".join
    shape = (1,) * (n + 1 - x.ndim) + x.shape[-n - 1:]
    check.require(min(w.out) >= 1, f"Given input size: ({by(map(str, shape))}). Calculated output size: "
                  f"({by(map(str, (shape[0], *w.out)))}). Output size is too small")


def _padded(x: jax.Array, w: Windows, fill) -> jax.Array:
    """Return ``x`` extended or cut on the right to the end of the last window."""
    n = len(w.kernel)
    config = [(0, 0, 0)] * (x.ndim - n)
    for size, k, s, p, d, o in zip(x.shape[-n:], w.kernel, w.stride, w.padding, w.dilation, w.out, strict=True):
        config.append((p, (o - 1) * s + d * (k - 1) + 1 - size - p, 0))
    return lax.pad(x, jnp.asarray(fill, x.dtype), config)


def _tap(padded: jax.Array, w: Windows, tap: tuple[int, ...]) -> jax.Array:
    """Return element ``tap`` of every window."""
    lead = padded.ndim - len(tap)
    starts = [t * d for t, d in zip(tap, w.dilation, strict=True)]
    stops = [a + (o - 1) * s + 1 for a, o, s in zip(starts, w.out, w.stride, strict=True)]
    return lax.slice(padded, [0] * lead + starts, [*padded.shape[:lead], *stops], [1] * lead + list(w.stride))


def _taps(padded: jax.Array, w: Windows) -> list[jax.Array]:
    """Return all taps; the last dimension varies fastest. Adjacent windows are split by a reshape instead of slices.

    Backward then is a concatenation, which is faster than the sum of padded arrays that transposes slices.
    """
    if w.stride != w.kernel or any(d != 1 for d in w.dilation):
        return [_tap(padded, w, tap) for tap in itertools.product(*map(range, w.kernel))]
    lead = padded.shape[:padded.ndim - len(w.kernel)]
    parts = [padded.reshape(*lead, *itertools.chain(*zip(w.out, w.kernel, strict=True)))]
    for i, k in enumerate(w.kernel):
        parts = [half for part in parts for half in lax.split(part, (1,) * k, len(lead) + 2 * i + 1)]
    return [part.reshape(*lead, *w.out) for part in parts]


def _position(w: Windows, tap: tuple[int, ...], sizes: tuple[int, ...], first_inside: bool = False) -> np.ndarray:
    """Return the flat input index of element ``tap`` of every window, or of its first element outside the padding."""
    flat = np.zeros((1,) * len(tap), np.int64)
    for i, (t, size) in enumerate(zip(tap, sizes, strict=True)):
        at = np.arange(w.out[i]) * w.stride[i] - w.padding[i] + t * w.dilation[i]
        if first_inside:
            at = np.where(at < 0, at % w.dilation[i], at)
        flat = flat * size + at.reshape([-1 if j == i else 1 for j in range(len(tap))])
    return flat


def _max_by_taps(x: jax.Array, w: Windows, with_indices: bool) -> tuple[jax.Array, jax.Array | None]:
    sizes = x.shape[-len(w.kernel):]
    padded = _padded(x, w, lowest(x.dtype))
    taps = list(itertools.product(*map(range, w.kernel)))
    best, *others = _taps(padded, w)
    index = jnp.broadcast_to(_position(w, taps[0], sizes, first_inside=True), best.shape) if with_indices else None
    for tap, value in zip(taps[1:], others, strict=True):
        better = (value > best) | jnp.isnan(value) if promotion.is_float(np.dtype(x.dtype)) else value > best
        best = jnp.where(better, value, best)
        if index is not None:
            index = jnp.where(better, jnp.broadcast_to(_position(w, tap, sizes), best.shape), index)
    return best, index


def _max_by_gather(x: jax.Array, w: Windows) -> tuple[jax.Array, jax.Array]:
    at = [np.arange(o)[:, None] * s - p + np.arange(k) * d
          for o, k, s, p, d in zip(w.out, w.kernel, w.stride, w.padding, w.dilation, strict=True)]
    inside = [(a >= 0) & (a < size) for a, size in zip(at, x.shape[-len(at):], strict=True)]
    return window_maximum(x, at, inside)


def _check_not_empty(input: jax.Array, n: int) -> None:
    sizes = input.shape[input.ndim - n - 1:]
    if 0 not in sizes:
        return
    if n == 3:
        raise RuntimeError("max_pool3d_with_indices_out_cpu_template(): Expected input's non-batch dimensions to have "
                           f"positive length, but input has a shape of {list(input.shape)} and non-batch dimension 0 has "
                           "length zero!")
    raise RuntimeError(f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for input, but "
                       f"got:{list(input.shape)}")


def _max_pool(n: int, input, kernel, stride, padding, dilation, ceil_mode: bool, return_indices: bool):
    name = f"max_pool{n}d"
    if n == 1:
        _check_max_pool1d(input, kernel, stride, padding, dilation, return_indices)
    w = _windows(input, n, name, kernel, stride, padding, dilation, ceil_mode) if input.ndim >= n else None
    valid = input.ndim in (n + 1, n + 2) and w is not None
    check.require(valid, f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor "
                  "expected for input")
    assert w is not None
    check.require(input.dtype != jnp.bool_, f"\"{name}\" not implemented for 'Bool'", NotImplementedError)
    _check_not_empty(input, n)
    if n == 1 and not return_indices:
        check.require(w.out[0] > 0, f"max_pool1d() Invalid computed output size: {w.out[0]}")
    _check_output(input, n, w)
    values, indices = (_max_by_gather(input, w) if math.prod(w.kernel) > _MANY_TAPS
                       else _max_by_taps(input, w, return_indices))
    return (values, indices) if return_indices else values


def _check_max_pool1d(input: jax.Array, kernel, stride, padding, dilation, return_indices: bool) -> None:
    valid = input.ndim in (2, 3) and 0 not in input.shape[input.ndim - 2:]
    check.require(valid, "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, "
                  f"but got:{list(input.shape)}")
    k, s, p, d = (_tuple(v, 1, name, "max_pool1d")[0] for v, name in (
        (kernel, "kernel_size"), (kernel if stride is None else stride, "stride"), (padding, "padding"),
        (dilation, "dilation")))
    check.require(k > 0, f"max_pool1d() kernel_size must be greater than zero, but got {k}")
    check.require(s > 0, f"max_pool1d() stride must be greater than zero, but got {s}")
    check.require(p >= 0 or return_indices, f"max_pool1d() padding must be non-negative, but got {p}")
    check.require(p <= k // 2 or return_indices, "max_pool1d() padding should be at most half of kernel size, but got "
                  f"padding={p} and kernel_size={k}")
    check.require(d > 0, f"max_pool1d() dilation must be greater than zero, but got {d}")
    if not promotion.is_float(np.dtype(input.dtype)):
        raise not_implemented("max_pool1d_impl", input.dtype)


@functional(aliases=("max_pool1d",), backward_name="SqueezeBackward1")
def max_pool1d(input: Tensor, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] | None = None,
               padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, ceil_mode: bool = False,
               return_indices: bool = False):
    """Return the maximum of each window over one dimension. See torch.nn.functional.max_pool1d."""
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@functional(aliases=("max_pool2d",), backward_name="MaxPool2DWithIndicesBackward0", layout=AS_FIRST_SUGGESTS)
def max_pool2d(input: Tensor, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] | None = None,
               padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, ceil_mode: bool = False,
               return_indices: bool = False):
    """Return the maximum of each window over two dimensions. See torch.nn.functional.max_pool2d."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@functional(aliases=("max_pool3d",), backward_name="MaxPool3DWithIndicesBackward0")
def max_pool3d(input: Tensor, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] | None = None,
               padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, ceil_mode: bool = False,
               return_indices: bool = False):
    """Return the maximum of each window over three dimensions. See torch.nn.functional.max_pool3d."""
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _only(i: int, n: int, values: tuple[int, ...], others: int = 1) -> tuple[int, ...]:
    return tuple(values[j] if j == i else others for j in range(n))


def _window_sums(x: jax.Array, w: Windows) -> jax.Array:
    """Return the sum of each window, computed dimension by dimension."""
    n = len(w.kernel)
    for i in range(n):
        out = tuple(w.out[j] if j == i else x.shape[j - n] for j in range(n))
        along = Windows(_only(i, n, w.kernel), _only(i, n, w.stride), _only(i, n, w.padding, 0), (1,) * n, out)
        x = _sums_along(_padded(x, along, 0), along)
    return x


def _sums_along(padded: jax.Array, w: Windows) -> jax.Array:
    taps = list(itertools.product(*map(range, w.kernel)))
    if len(taps) <= _MANY_TAPS:
        return sum((_tap(padded, w, t) for t in taps[1:]), _tap(padded, w, taps[0]))
    lead = [1] * (padded.ndim - len(w.kernel))
    zero = np.zeros((), padded.dtype)[()]
    return lax.reduce_window(padded, zero, lax.add, [*lead, *w.kernel], [*lead, *w.stride], "VALID")


def _divisors(sizes: tuple[int, ...], w: Windows, count_include_pad: bool) -> np.ndarray | int:
    """Return the number of elements that each window averages."""
    total = np.ones((1,) * len(sizes), np.int64)
    for i, size in enumerate(sizes):
        start = np.arange(w.out[i]) * w.stride[i] - w.padding[i]
        stop = np.minimum(start + w.kernel[i], size + w.padding[i])
        count = stop - start if count_include_pad else np.minimum(stop, size) - np.maximum(start, 0)
        total = total * count.reshape([-1 if j == i else 1 for j in range(len(sizes))])
    return int(total.flat[0]) if total.size and (total == total.flat[0]).all() else total


def _avg_pool(n: int, input, kernel, stride, padding, ceil_mode: bool, count_include_pad: bool,
              divisor: int | None = None):
    check.require(divisor != 0, "divisor must be not zero")
    if n < 3:
        check.wrap_dim(-n - (n > 1), input.ndim)
    check.require(n < 3 or input.ndim in (4, 5), "non-empty 4D or 5D (batch mode) tensor expected for input")
    w = _windows(input, n, f"avg_pool{n}d", kernel, stride, padding, 1, ceil_mode)
    _check_avg_pool(input, n, w)
    if input.dtype == jnp.bool_ or (not promotion.is_float(np.dtype(input.dtype)) and input.dtype != jnp.int64):
        raise not_implemented(f"avg_pool{max(n, 2)}d" + ("_out_frame" if n == 3 else ""), input.dtype)
    total = _window_sums(widen(input), w)
    count = _divisors(input.shape[-n:], w, count_include_pad) if divisor is None else divisor
    divided = jnp.broadcast_to(jnp.asarray(count).astype(total.dtype), total.shape)
    out = total / divided if promotion.is_float(np.dtype(total.dtype)) else lax.div(total, divided)
    return out.astype(input.dtype)


def _check_avg_pool(x: jax.Array, n: int, w: Windows) -> None:
    if n == 2:
        _check_not_empty(x, n)
    if n == 3 and any(s < k for s, k in zip(x.shape[-3:], w.kernel, strict=True)):
        given = " ".join(f"{c}: {s}" for c, s in zip("THW", x.shape[-3:], strict=True))
        raise RuntimeError(f"input image ({given}) smaller than kernel size "
                           f"({' '.join(f'k{c}: {k}' for c, k in zip('THW', w.kernel, strict=True))})")
    _check_output(x if n > 1 else x[..., None, :], max(n, 2), w if n > 1 else
                  Windows((1, *w.kernel), (1, *w.stride), (0, *w.padding), (1, 1), (1, *w.out)))


@functional(aliases=("avg_pool1d",), backward_name="SqueezeBackward1")
def avg_pool1d(input: Tensor, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] | None = None,
               padding: int | tuple[int, ...] = 0, ceil_mode: bool = False, count_include_pad: bool = True):
    """Return the mean of each window over one dimension. See torch.nn.functional.avg_pool1d."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


@functional(backward_name="AvgPool2DBackward0", layout=AS_FIRST_SUGGESTS)
def avg_pool2d(input: Tensor, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] | None = None,
               padding: int | tuple[int, ...] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None):
    """Return the mean of each window over two dimensions. See torch.nn.functional.avg_pool2d."""
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@functional(backward_name="AvgPool3DBackward0")
def avg_pool3d(input: Tensor, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] | None = None,
               padding: int | tuple[int, ...] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None):
    """Return the mean of each window over three dimensions. See torch.nn.functional.avg_pool3d."""
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _lp_pool(n: int, input, norm_type: float, kernel, stride, ceil_mode: bool):
    if abs(norm_type) == math.inf:
        sign = 1 if norm_type > 0 else -1
        return sign * _max_pool(n, sign * magnitude(input), kernel, stride, 0, 1, ceil_mode, False)
    mean = _avg_pool(n, jnp.power(input, norm_type), kernel, stride, 0, ceil_mode, True)
    kernel = ntuple(kernel, n, "kernel_size", f"lp_pool{n}d")
    return jnp.power(jnp.sign(mean) * clamp_min(jnp.abs(mean), 0) * math.prod(kernel), 1.0 / norm_type)


@functional(backward_name="PowBackward0")
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: int | tuple[int, ...] | None = None,
              ceil_mode: bool = False):
    """Return the p-norm of each window over one dimension. See torch.nn.functional.lp_pool1d."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@functional(backward_name="PowBackward0", layout=AS_FIRST_SUGGESTS)
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: int | tuple[int, ...],
              stride: int | tuple[int, ...] | None = None, ceil_mode: bool = False):
    """Return the p-norm of each window over two dimensions. See torch.nn.functional.lp_pool2d."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


@functional(backward_name="PowBackward0")
def lp_pool3d(input: Tensor, norm_type: float, kernel_size: int | tuple[int, ...],
              stride: int | tuple[int, ...] | None = None, ceil_mode: bool = False):
    """Return the p-norm of each window over three dimensions. See torch.nn.functional.lp_pool3d."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
