"""Maxima of windows of any position and size, for adaptive pooling and very large windows."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops import promotion


def lowest(dtype):
    """Return the lowest value of ``dtype``."""
    return -np.inf if promotion.is_float(np.dtype(dtype)) else np.iinfo(dtype).min


def _gathered(x: jax.Array, axis: int, at: np.ndarray) -> jax.Array:
    """Return ``x`` with dimension ``axis`` replaced by two: windows, and their elements ``at``."""
    shape = x.shape[:axis] + at.shape + x.shape[axis + 1:]
    if at.size == x.shape[axis] and (at.reshape(-1) == np.arange(at.size)).all():
        return x.reshape(shape)
    return jnp.take(x, at.reshape(-1), axis=axis).reshape(shape)


def window_maximum(x: jax.Array, at: list[np.ndarray], inside: list[np.ndarray]) -> tuple[jax.Array, jax.Array]:
    """Return the maxima of windows over the last dimensions and their flat indices. ``at[i]`` has shape (windows, elements)."""
    n, sizes = len(at), x.shape[x.ndim - len(at):]
    lead = x.ndim - n
    patches, flat, valid = x, np.zeros((), np.int64), np.ones((), bool)
    for i in range(n):
        clipped = np.where(inside[i], at[i], 0)
        patches = _gathered(patches, lead + 2 * i, clipped)
        shape = [1] * (2 * i) + list(clipped.shape)
        flat = flat[..., None, None] * sizes[i] + clipped.reshape(shape)
        valid = valid[..., None, None] & inside[i].reshape(shape)
    order = [*range(lead), *[lead + 2 * i for i in range(n)], *[lead + 2 * i + 1 for i in range(n)]]
    out, taps = [a.shape[0] for a in at], int(np.prod([a.shape[1] for a in at]))
    patches = patches.transpose(order).reshape(*x.shape[:lead], *out, taps)
    flat, valid = (a.transpose([k - lead for k in order[lead:]]).reshape(*out, taps) for a in (flat, valid))
    masked = jnp.where(jnp.broadcast_to(valid, patches.shape), patches, jnp.asarray(lowest(x.dtype), x.dtype))
    best = jnp.argmax(masked, axis=-1, keepdims=True)
    index = jnp.take_along_axis(jnp.broadcast_to(flat, patches.shape), best, axis=-1)
    return jnp.take_along_axis(patches, best, axis=-1)[..., 0], index[..., 0]
