"""Padding. See torch.nn.functional.pad."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import check
from jtorch.ops.layout import PADDED
from jtorch.ops.nn._common import functional
from jtorch.ops.registry import Tensor

_SUPPORTED = """
Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""


def _constant(x: jax.Array, pairs: dict[int, tuple[int, int]], value: float | None) -> jax.Array:
    left = [n + min(low, 0) + min(high, 0) for n, (low, high) in [(n, pairs.get(i, (0, 0))) for i, n in enumerate(x.shape)]]
    check.require(all(n >= 0 for n in left), "narrow(): length must be non-negative.")
    value = 0 if value is None else value
    if any(n > 0 for pair in pairs.values() for n in pair):
        check.number_fits(value, x.dtype)
    fill = jnp.asarray(np.asarray(value).astype(x.dtype))
    return lax.pad(x, fill, [(*pairs.get(i, (0, 0)), 0) for i in range(x.ndim)])


def _sources(n: int, low: int, high: int, mode: str) -> np.ndarray:
    """Return, for each element of the padded dimension, the index of its source among ``n`` elements."""
    if mode == "circular":      # elements cut off by negative padding do not reappear on the other side
        left = n + min(low, 0) + min(high, 0)
        return np.arange(-max(low, 0), left + max(high, 0)) % left + max(-low, 0)
    at = np.arange(-low, n + high)
    if mode == "replicate":
        return np.clip(at, 0, n - 1)
    at = np.abs(at)
    return np.where(at >= n, 2 * (n - 1) - at, at)


def _check_pair(x: jax.Array, axis: int, low: int, high: int, mode: str, pad: tuple[int, ...]) -> None:
    n = x.shape[axis]
    if mode == "circular":
        check.require(low <= n and high <= n, "Padding value causes wrapping around more than once.")
        check.require(n + low + high >= 0, "Negative padding value is resulting in an empty dimension")
    elif mode == "reflect":
        number = 2 * (x.ndim - axis) + 2
        check.require(low < n and high < n, f"Argument #{number}: Padding size should be less than the corresponding "
                      f"input dimension, but got: padding ({low}, {high}) at dimension {axis} of input {list(x.shape)}")
    if mode != "circular":
        check.require(n + low + high >= 1, _too_small(x, pad))


def _too_small(x: jax.Array, pad: tuple[int, ...]) -> str:
    names = "WHD"[:len(pad) // 2]
    sizes = [(x.shape[-1 - i], x.shape[-1 - i] + pad[2 * i] + pad[2 * i + 1]) for i in range(len(names))]
    given, out = (" ".join(f"{c}: {s[k]}" for c, s in reversed(list(zip(names, sizes, strict=True)))) for k in (0, 1))
    return f"input ({given}) is too small. Calculated output {out}"


def _along(x: jax.Array, axis: int, low: int, high: int, mode: str) -> jax.Array:
    sources = _sources(x.shape[axis], low, high, mode)
    start, stop = max(low, 0), len(sources) - max(high, 0)
    parts = [_run(x, axis, part) for part in (sources[:start], sources[start:stop], sources[stop:]) if len(part)]
    return jnp.concatenate(parts, axis=axis) if parts else x


def _run(x: jax.Array, axis: int, part: np.ndarray) -> jax.Array:
    """Return the elements ``part`` of ``x``. A run becomes a slice, whose gradient is no scatter."""
    first, last = int(part[0]), int(part[-1])
    if first == last:
        one = lax.slice_in_dim(x, first, first + 1, axis=axis)
        return jnp.broadcast_to(one, x.shape[:axis] + (len(part),) + x.shape[axis + 1:])
    piece = lax.slice_in_dim(x, min(first, last), max(first, last) + 1, axis=axis)
    return piece if first < last else lax.rev(piece, (axis,))


def _name(template: tuple) -> str:
    mode, n = template[2], len(template[1]) // 2
    kinds = {"constant": "ConstantPadNdBackward0", "circular": "CopySlices", "reflect": f"ReflectionPad{n}DBackward0"}
    return kinds.get(mode, f"ReplicationPad{n}DBackward0")


@functional(saves="none", backward_name=_name, layout=PADDED)
def pad(input: Tensor, pad: tuple[int, ...], mode: str = "constant", value: float | None = None):
    """Extend the last dimensions by constants, mirroring, repeating or wrapping. See torch.nn.functional.pad."""
    pad = tuple(pad)
    check.require(len(pad) % 2 == 0, "Padding length must be divisible by 2")
    check.require(len(pad) <= 2 * input.ndim, "Padding length should be less than or equal to two times the input "
                  f"dimension but got padding length {len(pad)} and input of dimension {input.ndim}")
    pairs = {input.ndim - 1 - i: (pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)}
    if mode == "constant":
        return _constant(input, pairs, value)
    check.require(value is None or value == 0, f'Padding mode "{mode}" doesn\'t take in value argument')
    n = len(pad) // 2
    if not (1 <= n <= 3 and input.ndim in (n + 1, n + 2)):
        raise NotImplementedError(f"Padding size {len(pad)} is not supported for {input.ndim}D input "
                                  f"tensor.{_SUPPORTED}")
    check.require(mode in ("reflect", "replicate", "circular"), "Unrecognised padding mode "
                  f"{mode}", NotImplementedError)
    out = input
    for axis, (low, high) in pairs.items():
        _check_pair(input, axis, low, high, mode, pad)
    for axis, (low, high) in pairs.items():
        if low or high:
            out = _along(out, axis, low, high, mode)
    return out
