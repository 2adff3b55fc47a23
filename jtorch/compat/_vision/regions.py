"""roi_align and ps_roi_align: means of bilinear samples in the bins of regions."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch._vision.sampling import Taps, taps
from jtorch.ops import check
from jtorch.ops.registry import Tensor, op


def _check(input: Any, rois: Any) -> None:
    check.require(rois.ndim == 2 and rois.shape[1] == 5, "rois must have shape as Tensor[K, 5]")
    check.require(input.dtype == rois.dtype, "input should have the same type as rois")


def sampling_grid(rois: Any, scale: float, height: int, width: int, ratio: int, smallest: float) -> tuple[int, int]:
    """Return upper limits of the number of samples per bin along both axes: a positive ``ratio``, else powers of 2.

    Each pair of limits is compiled separately, and powers of 2 keep the number of pairs small.
    """
    if ratio > 0:
        return ratio, ratio
    ends = np.asarray(rois[:, 3:5] - rois[:, 1:3]) * scale
    longest = np.maximum(ends.max(0), smallest) if len(ends) else np.ones(2)
    counts = [max(int(np.ceil(n / bins)), 1) for n, bins in zip(longest, (width, height), strict=True)]
    across, down = (1 << (n - 1).bit_length() for n in counts)
    return down, across


class _Regions:
    """The regions' positions in the image, and their samples."""

    def __init__(self, rois: Any, scale: Any, bins: tuple[int, int], ratio: int, grid: tuple[int, int], *,
                 offset: Any, smallest: float):
        scale, offset = np.asarray(scale, rois.dtype), np.asarray(offset, rois.dtype)
        left, top, right, bottom = (rois[:, i] * scale - offset for i in (1, 2, 3, 4))
        self.image = rois[:, 0].astype(jnp.int32)
        self.start = top, left
        self.length = tuple(jnp.maximum(n, smallest) if smallest else n for n in (bottom - top, right - left))
        self.bins, self.grid = bins, grid
        self.count = [jnp.full(len(rois), ratio) if ratio > 0 else jnp.ceil(n / b).astype(jnp.int32)
                      for n, b in zip(self.length, bins, strict=True)]

    def taps(self, size: tuple[int, int]) -> list[Taps]:
        """Return the samples' pixels and weights along both axes."""
        return [taps(*of) for of in zip(self.start, self.length, self.bins, self.count, self.grid, size, strict=True)]

    def samples(self, dtype: Any) -> Any:
        """Return the number of samples of each region's bins."""
        return jnp.maximum(self.count[0] * self.count[1], 1).astype(dtype)


def _mean(regions: _Regions, size: tuple[int, int], read: Any, like: Any) -> Any:
    """Add ``read(y, x, weight)`` for all samples to ``like``; ``y`` and ``x`` are (region, bin). The caller divides."""
    down, across = regions.taps(size)
    pairs = jnp.stack(jnp.meshgrid(*[jnp.arange(n) for n in regions.grid], indexing="ij"), -1).reshape(-1, 2)

    def step(total: Any, pair: Any) -> Any:
        ys, xs = (Taps(*[part[:, :, i] for part in axis]) for axis, i in ((down, pair[0]), (across, pair[1])))
        for y, wy in ((ys.low, ys.at_low), (ys.high, ys.at_high)):
            for x, wx in ((xs.low, xs.at_low), (xs.high, xs.at_high)):
                total = total + read(y[:, :, None], x[:, None, :], wy[:, :, None] * wx[:, None, :])
        return total, None
    return lax.scan(step, like, pairs)[0]


def _roi_align(input: Any, rois: Any, scale: float, bins: tuple[int, int], ratio: int, aligned: bool,
               grid: tuple[int, int]) -> Any:
    images, channels, height, width = input.shape
    regions = _Regions(rois, scale, bins, ratio, grid, offset=0.5 if aligned else 0.0, smallest=0.0 if aligned else 1.0)
    rows = input.transpose(0, 2, 3, 1).reshape(images * height * width, channels)
    base = (regions.image * (height * width))[:, None, None]

    def read(y: Any, x: Any, weight: Any) -> Any:
        return rows[base + y * width + x] * weight[..., None]
    total = _mean(regions, (height, width), read, jnp.zeros((len(rois), *bins, channels), input.dtype))
    return (total / regions.samples(input.dtype)[:, None, None, None]).transpose(0, 3, 1, 2)


_FACTS: dict[str, Any] = {"function": False, "method": False, "out": False, "tested": False, "differentiable": False,
                          "loops": True}


@op(name="torchvision.roi_align", **_FACTS)
def roi_align(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int,
              aligned: bool, grid: tuple):
    """Return means of samples in the bins of regions. See torchvision.ops.roi_align."""
    _check(input, rois)
    return _roi_align(input, rois, spatial_scale, (pooled_height, pooled_width), sampling_ratio, aligned, grid)


@op(name="torchvision._roi_align_backward", **_FACTS)
def roi_align_backward(grad: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, batch_size: int,
                       channels: int, height: int, width: int, sampling_ratio: int, aligned: bool, grid: tuple):
    """Return the image's gradient."""
    zeros = jnp.zeros((batch_size, channels, height, width), grad.dtype)
    bins = pooled_height, pooled_width
    return jax.vjp(lambda image: _roi_align(image, rois, spatial_scale, bins, sampling_ratio, aligned, grid), zeros)[1](grad)[0]


def channel_of(channels: int, bins: tuple[int, int]) -> np.ndarray:
    """Return the input channel that each (output channel, bin) of a position-sensitive pooling reads."""
    return np.arange(channels).reshape(channels // (bins[0] * bins[1]), *bins)


def check_channels(input: Any, bins: tuple[int, int]) -> None:
    """Raise RuntimeError unless the number of channels is a multiple of the number of bins."""
    check.require(input.shape[1] % (bins[0] * bins[1]) == 0, "input channels must be a multiple of pooling height * pooling "
                                                             "width")


def _ps_roi_align(input: Any, rois: Any, scale: float, bins: tuple[int, int], ratio: int, grid: tuple[int, int]) -> Any:
    height, width = input.shape[2:]
    regions = _Regions(rois, scale, bins, ratio, grid, offset=0.5, smallest=0.0)
    channel = channel_of(input.shape[1], bins)
    image = regions.image[:, None, None, None]

    def read(y: Any, x: Any, weight: Any) -> Any:
        return input[image, channel[None], y[:, None], x[:, None]] * weight[:, None]
    total = _mean(regions, (height, width), read, jnp.zeros((len(rois), *channel.shape), input.dtype))
    return total / regions.samples(input.dtype)[:, None, None, None]


@op(name="torchvision.ps_roi_align", returns="output channel_mapping", **_FACTS)
def ps_roi_align(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int,
                 grid: tuple):
    """Return position-sensitive roi_align, and the channel that each element reads.

    See torchvision.ops.ps_roi_align.
    """
    _check(input, rois)
    bins = pooled_height, pooled_width
    check_channels(input, bins)
    mapping = jnp.asarray(channel_of(input.shape[1], bins), jnp.int32)
    return (_ps_roi_align(input, rois, spatial_scale, bins, sampling_ratio, grid),
            jnp.broadcast_to(mapping, (len(rois), *mapping.shape)))


@op(name="torchvision._ps_roi_align_backward", **_FACTS)
def ps_roi_align_backward(grad: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
                          sampling_ratio: int, batch_size: int, channels: int, height: int, width: int, grid: tuple):
    """Return the image's gradient."""
    zeros = jnp.zeros((batch_size, channels, height, width), grad.dtype)
    bins = pooled_height, pooled_width
    return jax.vjp(lambda image: _ps_roi_align(image, rois, spatial_scale, bins, sampling_ratio, grid), zeros)[1](grad)[0]
