"""Resampling to another size. See torch.nn.functional.interpolate.

Each mode is separable: along each dimension, an output is a weighted sum of a few inputs. Their indices and weights
depend on the sizes alone, so both tables are NumPy constants.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jtorch._base import warned
from jtorch.ops import check, promotion
from jtorch.ops.elementwise import widen
from jtorch.ops.layout import AS_FIRST_SUGGESTS
from jtorch.ops.nn._common import functional, not_implemented
from jtorch.ops.nn.adaptive_pool import adaptive_mean
from jtorch.ops.registry import Tensor, op

_MODES = {"linear": 3, "bilinear": 4, "trilinear": 5, "bicubic": 4}


def _scale(size: int, out: int, factor: float | None, align_corners: bool | None, real: Any) -> float:
    """Return the distance between neighbouring outputs, in elements of the input."""
    if align_corners:
        return real(size - 1) / real(out - 1) if out > 1 else real(0)
    return real(1.0 / factor) if factor is not None and factor > 0 else real(size) / real(out)


def _nearest(size: int, out: int, factor: float | None, shift: float) -> np.ndarray:
    scale = _scale(size, out, factor, False, np.float32)
    source = (np.arange(out, dtype=np.float32) + np.float32(shift)) * scale
    return np.minimum(np.floor(source).astype(np.int64), size - 1)


def _linear(size: int, out: int, factor, align_corners: bool, real: Any) -> tuple[np.ndarray, np.ndarray]:
    scale, at = _scale(size, out, factor, align_corners, real), np.arange(out, dtype=real)
    source = scale * at if align_corners else np.maximum(scale * (at + real(0.5)) - real(0.5), 0)
    low = np.minimum(source.astype(np.int64), size - 1)
    part = np.clip(source - low, 0, 1).astype(real)
    return np.stack([low, np.minimum(low + 1, size - 1)], 1), np.stack([1 - part, part], 1)


def cubic_weights(t, a: float = -0.75) -> list:
    """Return the weights of the four neighbours of a point at distance ``t`` after the second neighbour."""
    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(size: int, out: int, factor, align_corners: bool, real: Any) -> tuple[np.ndarray, np.ndarray]:
    scale, at = _scale(size, out, factor, align_corners, real), np.arange(out, dtype=real)
    source = scale * at if align_corners else scale * (at + real(0.5)) - real(0.5)
    low = np.floor(source)
    taps = np.clip(low.astype(np.int64)[:, None] + np.arange(-1, 3), 0, size - 1)
    return taps, np.stack(cubic_weights(source - low), 1)


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(x), 0)


def _cubic_filter(x: np.ndarray) -> np.ndarray:
    x, a = np.abs(x), -0.5
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


_FILTERS: dict[str, tuple[Callable, int]] = {"bilinear": (_triangle, 2), "bicubic": (_cubic_filter, 4),
                                             "lanczos": (_lanczos, 6)}


def _antialiased(size: int, out: int, factor, align_corners: bool, mode: str, real) -> tuple[np.ndarray, np.ndarray]:
    """Return taps and weights of a filter as wide as the distance of outputs, computed in dtype ``real`` as in PyTorch."""
    fn, width = _FILTERS[mode]
    scale = real(_scale(size, out, factor, align_corners, real))
    support, narrow = (real(width / 2) * scale, 1 / scale) if scale >= 1 else (real(width / 2), real(1))
    center = scale * (np.arange(out, dtype=real) + real(0.5))
    first = np.maximum((center - support + 0.5).astype(np.int64), 0)
    stop = np.minimum((center + support + 0.5).astype(np.int64), size)
    taps = first[:, None] + np.arange(max(int((stop - first).max()), 1))
    weights = np.where(taps < stop[:, None], fn((taps.astype(real) - center[:, None] + real(0.5)) * narrow), 0).astype(real)
    return np.minimum(taps, size - 1), weights / np.add.accumulate(weights, 1)[:, -1:]


def _take(x: jax.Array, axis: int, at: np.ndarray) -> jax.Array:
    """Return ``x[..., at, ...]``. An integer enlargement is a broadcast, whose gradient is a sum instead of a scatter."""
    size, times = x.shape[axis], len(at) // max(x.shape[axis], 1)
    if len(at) == size * times and (at == np.repeat(np.arange(size), times)).all():
        return x if times == 1 else jnp.repeat(x, times, axis=axis)
    return jnp.take(x, at, axis=axis)


def _blend(x: jax.Array, axis: int, taps: np.ndarray, weights: np.ndarray) -> jax.Array:
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    scales = jnp.asarray(weights, x.dtype)
    parts = [_take(x, axis, at) * scales[:, k].reshape(shape) for k, at in enumerate(taps.T)]
    return sum(parts[1:], parts[0])


def _merged(taps: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weights with those of equal taps added. Taps beyond a border read the border."""
    weights = weights.astype(np.float64)
    for k in range(1, taps.shape[1]):
        again = taps[:, k] == taps[:, k - 1]
        weights[again, k] += weights[again, k - 1]
        weights[again, k - 1] = 0
    return weights


def _blend_bytes(x: jax.Array, axis: int, taps: np.ndarray, weights: np.ndarray) -> jax.Array:
    """Return ``_blend`` of bytes, in integers as in PyTorch and Pillow: 16-bit weights, rounding to bytes after each axis."""
    weights = _merged(taps, weights)
    bits = next(b for b in range(23) if b == 22 or int(0.5 + weights.max() * (1 << (b + 1))) >= 1 << 15)
    scaled = weights * (1 << bits)
    whole = np.trunc(np.where(scaled < 0, scaled - 0.5, scaled + 0.5)).astype(np.int32)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    parts = [_take(x, axis, at).astype(jnp.int32) * jnp.asarray(whole[:, k].reshape(shape))
             for k, at in enumerate(taps.T)]
    total = sum(parts[1:], parts[0]) + (1 << (bits - 1))
    return jnp.clip(total >> bits, 0, 255).astype(x.dtype)


def _out_sizes(input: jax.Array, size, factors: Sequence[float] | None) -> tuple[int, ...]:
    if size is not None:
        return tuple(size)
    assert factors is not None
    return tuple(math.floor(n * f) for n, f in zip(input.shape[2:], factors, strict=True))


def _sizes_and_factors(input: jax.Array, size, scale_factor, recompute: bool | None, mode: str):
    """Return the output's size and the scale factors for its coordinates. None means the ratio of the sizes."""
    dim = input.ndim - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        check.require(not recompute, "recompute_scale_factor is not meaningful with an explicit size.", ValueError)
        return _listed(input, size, dim, "output", "output size in (o1, o2, ...,oK) format."), None
    factors = _listed(input, scale_factor, dim, "scale_factor", "scale_factor in (s1, s2, ...,sK) format.")
    if recompute or mode == "area":
        return _out_sizes(input, None, factors), None
    return _out_sizes(input, None, factors), factors


def _listed(input: jax.Array, value, dim: int, what: str, form: str) -> tuple:
    if not isinstance(value, (list, tuple)):
        return (value,) * dim
    noun = f"output size of {_text(value)}" if what == "output" else f"scale_factor of shape {_text(value)}"
    check.require(len(value) == dim, f"Input and {what} must have the same number of spatial dimensions, but got input "
                  f"with spatial dimensions of {list(input.shape[2:])} and {noun}. Please provide input tensor in (N, "
                  f"C, d1, d2, ...,dK) format and {form}", ValueError)
    return tuple(value)


def _text(value) -> str:
    return str(list(value)) if isinstance(value, list) else str(tuple(value))


def _check_mode(input: jax.Array, mode: str, align_corners: bool | None, antialias: bool) -> None:
    check.require(align_corners is None or mode not in ("nearest", "area", "nearest-exact"), "align_corners option can "
                  "only be set with the interpolating modes: linear | bilinear | bicubic | trilinear", ValueError)
    check.require(not antialias or (mode in _FILTERS and input.ndim == 4), "Anti-alias option is restricted to "
                  "bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input", ValueError)
    if mode == "lanczos" and input.ndim == 4:
        check.require(not align_corners, "Lanczos mode does not support align_corners=True", ValueError)
        check.require(antialias, "Lanczos mode requires antialias=True", ValueError)
    elif input.ndim in (3, 4, 5) and _MODES.get(mode, input.ndim) != input.ndim and mode != "bicubic":
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {_MODES[mode]}D input")
    if input.ndim not in (3, 4, 5) or (mode not in ("nearest", "nearest-exact", "area", "lanczos") and
                                       _MODES.get(mode) != input.ndim):
        raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for "
                                  "the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | "
                                  f"nearest-exact (got {mode})")


def _check_sizes(input: jax.Array, out: tuple[int, ...]) -> None:
    names = ("D", "H", "W")[-len(out):]
    given, wanted = (", ".join(f"{c}: {s}" for c, s in zip(names, v, strict=True)) for v in (input.shape[2:], out))
    check.require(min((*input.shape[2:], *out)) > 0, "Input and output sizes should be greater than 0, but got input "
                  f"({given}) output ({wanted})")


def _tables(input: jax.Array, axis: int, out: int, factor, mode: str, align_corners: bool, antialias: bool):
    size, real = input.shape[axis], np.float64 if input.dtype in (jnp.float64, jnp.uint8) else np.float32
    if antialias:
        return _antialiased(size, out, factor, align_corners, mode, real)
    return (_cubic if mode == "bicubic" else _linear)(size, out, factor, align_corners, real)


def _name(template: tuple) -> str:
    return {"nearest": "UpsampleNearest2DBackward0", "nearest-exact": "UpsampleNearestExact2DBackward0",
            "linear": "UpsampleLinear1DBackward0", "bilinear": "UpsampleBilinear2DBackward0",
            "trilinear": "UpsampleTrilinear3DBackward0", "bicubic": "UpsampleBicubic2DBackward0",
            "area": "AdaptiveAvgPool2DBackward0"}.get(template[3], "InterpolateBackward0")


def _interpolated(input, size, scale_factor, mode: str, align_corners: bool | None, recompute: bool | None,
                  antialias: bool):
    out, factors = _sizes_and_factors(input, size, scale_factor, recompute, mode)
    _check_mode(input, mode, align_corners, antialias)
    _check_sizes(input, out)
    if mode == "area":
        return adaptive_mean(len(out), input, out)
    _check_kind(input, mode, antialias)
    of_bytes = input.dtype == jnp.uint8 and mode in ("bilinear", "bicubic")
    as_is = of_bytes or "nearest" in mode
    x = widen(input) if promotion.is_float(np.dtype(input.dtype)) or as_is else input.astype(jnp.float32)
    blend = _blend_bytes if of_bytes else _blend
    for i in range(len(out) - 1, -1, -1):
        factor, axis = factors[i] if factors is not None else None, i + 2
        if mode in ("nearest", "nearest-exact"):
            x = _take(x, axis, _nearest(x.shape[axis], out[i], factor, 0.5 if mode == "nearest-exact" else 0.0))
        elif (factor is not None and factor != 1) or out[i] != x.shape[axis]:
            x = blend(x, axis, *_tables(x, axis, out[i], factor, mode, bool(align_corners), antialias))
    if input.dtype == jnp.uint8 and x.dtype != jnp.uint8:
        x = jnp.clip(jnp.floor(x + 0.5), 0, 255)
    return x.astype(input.dtype)


_KERNELS = {"linear": "compute_indices_weights_linear", "trilinear": "compute_indices_weights_linear",
            "bilinear": "upsample_bilinear2d_channels_last", "bicubic": "compute_indices_weights_cubic"}


def _check_kind(input, mode: str, antialias: bool) -> None:
    """Raise NotImplementedError for dtypes without PyTorch kernel: integers except bytes, and complex numbers."""
    if promotion.is_float(np.dtype(input.dtype)) or (input.dtype == jnp.uint8 and mode not in ("linear", "trilinear")):
        return
    nearest = "upsample_nearest2d_channels_last" if input.ndim == 4 else "compute_indices_weights_nearest"
    raise not_implemented("compute_index_ranges_weights" if antialias else _KERNELS.get(mode, nearest), input.dtype)


@functional(saves="none", backward_name=_name, layout=AS_FIRST_SUGGESTS)
def interpolate(input: Tensor, size: int | tuple[int, ...] | None = None,
                scale_factor: float | tuple[float, ...] | None = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False):
    """Return the input resampled to ``size`` or by ``scale_factor``. See torch.nn.functional.interpolate."""
    return _interpolated(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)


def _deprecated(name: str) -> Callable[..., None]:
    """Return a ``warns`` function for a deprecated name."""
    return lambda *args: warned.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")


@functional(saves="none", backward_name=_name, layout=AS_FIRST_SUGGESTS, warns=_deprecated("upsample"))
def upsample(input: Tensor, size: int | tuple[int, ...] | None = None,
             scale_factor: float | tuple[float, ...] | None = None, mode: str = "nearest",
             align_corners: bool | None = None):
    """Return interpolate under its old name. See torch.nn.functional.upsample."""
    return _interpolated(input, size, scale_factor, mode, align_corners, None, False)


@functional(saves="none", backward_name="UpsampleNearest2DBackward0", layout=AS_FIRST_SUGGESTS,
            warns=_deprecated("upsample_nearest"))
def upsample_nearest(input: Tensor, size: int | tuple[int, ...] | None = None,
                     scale_factor: float | tuple[float, ...] | None = None):
    """Return interpolate with mode="nearest". See torch.nn.functional.upsample_nearest."""
    return _interpolated(input, size, scale_factor, "nearest", None, None, False)


@functional(saves="none", backward_name="UpsampleBilinear2DBackward0", layout=AS_FIRST_SUGGESTS,
            warns=_deprecated("upsample_bilinear"))
def upsample_bilinear(input: Tensor, size: int | tuple[int, ...] | None = None,
                      scale_factor: float | tuple[float, ...] | None = None):
    """Return interpolate with mode="bilinear" and align_corners=True. See torch.nn.functional.upsample_bilinear."""
    return _interpolated(input, size, scale_factor, "bilinear", True, None, False)


@op(method=False, out=False, saves="none", backward_name="UpsampleBilinear2DAaBackward0")
def _upsample_bilinear2d_aa(input: Tensor, output_size: tuple[int, ...] | None, align_corners: bool,
                            scales_h: float | tuple[float, ...] | None = None, scales_w: float | None = None, *,
                            scale_factors: tuple[float, ...] | None = None):
    """Return interpolate(mode="bilinear", antialias=True) for a size and perhaps scales that differ from the sizes' ratio."""
    given: Any = scale_factors or (scales_h if isinstance(scales_h, tuple) else (scales_h, scales_w))
    out, x = _out_sizes(input, output_size, given), widen(input)
    _check_sizes(input, out)
    for axis, size, factor in ((3, out[1], given[1]), (2, out[0], given[0])):
        x = _blend(x, axis, *_tables(x, axis, size, factor, "bilinear", align_corners, True))
    return x.astype(input.dtype)
