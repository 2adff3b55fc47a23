"""roi_pool and ps_roi_pool: the maximum or the mean of the whole pixels in each bin of a region."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch._vision.regions import channel_of, check_channels
from jtorch.ops import check
from jtorch.ops.registry import Tensor, op

_FACTS: dict[str, Any] = {"function": False, "method": False, "out": False, "tested": False, "differentiable": False,
                          "loops": True}


def _check(input: Any, rois: Any) -> None:
    check.require(rois.ndim == 2 and rois.shape[1] == 5, "Tensor rois should have shape as Tensor[K, 5]")
    check.require(input.dtype == rois.dtype, "input should have the same type as rois")


def _rounded(x: Any) -> Any:
    """Round halves away from zero, as C does."""
    return jnp.where(x < 0, jnp.ceil(x - 0.5), jnp.floor(x + 0.5))


def _inside(first: Any, last: Any, bins: int, size: int, *, extra: int, end: int) -> Any:
    """Return whether a pixel lies in a bin along one axis, as (region, bin, pixel)."""
    step = (jnp.maximum(last - first + extra, 1) / bins)[:, None]
    i = jnp.arange(bins, dtype=first.dtype)[None]
    low, high = (jnp.clip(edge + first[:, None], 0, end) for edge in (jnp.floor(i * step), jnp.ceil((i + 1) * step)))
    pixel = jnp.arange(size, dtype=first.dtype)[None, None]
    return (pixel >= low[..., None]) & (pixel < high[..., None])


def _masks(rois: Any, scale: float, bins: tuple[int, int], size: tuple[int, ...], *, extra: int, less: int) -> tuple[Any, Any]:
    edges = _rounded(rois[:, 1:] * np.asarray(scale, rois.dtype))
    down, across = (_inside(edges[:, i], edges[:, i + 2], bins[a], size[a], extra=extra, end=size[a] - less)
                    for i, a in ((1, 0), (0, 1)))
    return down, across


def _greatest(image: Any, down: Any, across: Any) -> tuple[Any, Any]:
    """Return each bin's greatest element in one region, and its first index; 0 and -1 for an empty bin."""
    height, width = image.shape[1:]
    least = jnp.asarray(-jnp.inf, image.dtype)
    rows = jnp.where(down[:, None, :, None], image[None], least)               # dims: row of bins, channel, y, x
    best, y = rows.max(2), rows.argmax(2)
    columns = jnp.where(across[None, :, None, :], best[:, None], least)        # dims: row of bins, column of bins, channel, x
    greatest = columns.max(-1)
    places = y[:, None] * width + jnp.arange(width)[None, None, None]
    first = jnp.where((columns == greatest[..., None]) & across[None, :, None, :], places, height * width).min(-1)
    empty = ~(down.any(-1)[:, None] & across.any(-1)[None])[..., None]
    return (jnp.where(empty, jnp.zeros((), image.dtype), greatest).transpose(2, 0, 1),
            jnp.where(empty, -1, first).astype(jnp.int32).transpose(2, 0, 1))


@op(name="torchvision.roi_pool", returns="output argmax", **_FACTS)
def roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int):
    """Return the greatest elements in the bins of regions, and their indices. See torchvision.ops.roi_pool."""
    _check(input, rois)
    bins = pooled_height, pooled_width
    if not len(rois):
        shape = (0, input.shape[1], *bins)
        return jnp.zeros(shape, input.dtype), jnp.zeros(shape, jnp.int32)
    masks = _masks(rois, spatial_scale, bins, input.shape[2:], extra=1, less=0)
    return lax.map(lambda of: _greatest(input[of[0]], of[1], of[2]), (rois[:, 0].astype(jnp.int32), *masks))


@op(name="torchvision._roi_pool_backward", **_FACTS)
def roi_pool_backward(grad: Tensor, rois: Tensor, argmax: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
                      batch_size: int, channels: int, height: int, width: int):
    """Return the image's gradient: each bin's gradient goes to its greatest element."""
    image = rois[:, 0].astype(jnp.int32)[:, None, None, None]
    channel = jnp.arange(channels)[None, :, None, None]
    place = jnp.where(argmax < 0, height * width, argmax)
    zeros = jnp.zeros((batch_size, channels, height * width), grad.dtype)
    return zeros.at[image, channel, place].add(grad, mode="drop").reshape(batch_size, channels, height, width)


def _ps_roi_pool(input: Any, rois: Any, scale: float, bins: tuple[int, int]) -> Any:
    size = input.shape[2:]
    down, across = (m.astype(input.dtype) for m in _masks(rois, scale, bins, size, extra=0, less=1))
    area = down.sum(-1)[:, :, None] * across.sum(-1)[:, None, :]
    by_bin = input.reshape(input.shape[0], -1, *bins, *size)

    def one(of: Any) -> Any:
        return jnp.einsum("oijhw,ih,jw->oij", by_bin[of[0]], of[1], of[2])
    total = lax.map(one, (rois[:, 0].astype(jnp.int32), down, across))
    return jnp.where(area[:, None] > 0, total / jnp.maximum(area[:, None], 1), jnp.zeros((), input.dtype))


@op(name="torchvision.ps_roi_pool", returns="output channel_mapping", **_FACTS)
def ps_roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int):
    """Return position-sensitive means of bins, and the channel that each reads. See torchvision.ops.ps_roi_pool."""
    _check(input, rois)
    bins = pooled_height, pooled_width
    check_channels(input, bins)
    mapping = jnp.asarray(channel_of(input.shape[1], bins), jnp.int32)
    shape = (len(rois), *mapping.shape)
    made = _ps_roi_pool(input, rois, spatial_scale, bins) if len(rois) else jnp.zeros(shape, input.dtype)
    return made, jnp.broadcast_to(mapping, shape)


@op(name="torchvision._ps_roi_pool_backward", **_FACTS)
def ps_roi_pool_backward(grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int,
                         pooled_width: int, batch_size: int, channels: int, height: int, width: int):
    """Return the image's gradient."""
    zeros = jnp.zeros((batch_size, channels, height, width), grad.dtype)
    if not len(rois):
        return zeros
    return jax.vjp(lambda image: _ps_roi_pool(image, rois, spatial_scale, (pooled_height, pooled_width)), zeros)[1](grad)[0]
