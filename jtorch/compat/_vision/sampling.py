"""Bilinear samples on a grid in each bin of each region of interest."""
from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp


class Taps(NamedTuple):
    """Two neighboring pixels and their weights along one axis, for each (region, bin, sample). Weight 0 leaves a pixel out."""

    low: Any
    high: Any
    at_low: Any
    at_high: Any


def taps(start: Any, length: Any, bins: int, count: Any, most: int, size: int) -> Taps:
    """Return the pixels and weights of each bin's samples along one axis.

    Args:
        start: where each region begins.
        length: the length of each region.
        bins: the number of bins in each region.
        count: the number of samples in each bin, by region.
        most: the size of the result's last dimension.
        size: the size of the image.

    """
    dtype = start.dtype
    step = (length / bins)[:, None, None]
    i = jnp.arange(most, dtype=dtype)[None, None, :]
    counts = count.astype(dtype)[:, None, None]
    at = start[:, None, None] + jnp.arange(bins, dtype=dtype)[None, :, None] * step + (i + 0.5) * step / counts
    read = (at >= -1) & (at <= size) & (i < counts)
    at = jnp.clip(at, 0, size - 1)
    low = jnp.minimum(jnp.floor(at), max(size - 2, 0))
    part = at - low
    low = low.astype(jnp.int32)
    return Taps(low, jnp.minimum(low + 1, size - 1), jnp.where(read, 1 - part, 0), jnp.where(read, part, 0))
