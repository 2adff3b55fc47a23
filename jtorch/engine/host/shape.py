"""Rules of primitives that only move elements: broadcasts, slices, joins. Large results are NumPy views if possible."""
from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from jtorch.engine import policy
from jtorch.engine.host.rules import Equation, ints, require, rule


@rule("broadcast_in_dim")
def _broadcast_in_dim(e: Equation) -> Callable:
    require(len(e.ins) == 1)
    shape, dtype, old = e.shape, e.dtype, e.ins[0].shape
    sizes = [1] * len(shape)
    for d, n in zip(e.params["broadcast_dimensions"], old, strict=True):
        sizes[d] = n
    wide = tuple(sizes)
    if wide == shape:
        return lambda x: x.reshape(shape)
    if e.outs[0].size > policy.CACHED:
        return lambda x: np.broadcast_to(x.reshape(wide), shape)

    def fill(x):
        out = np.empty(shape, dtype)
        out[...] = x.reshape(wide)
        return out
    return fill


@rule("tile")
def _tile(e: Equation) -> Callable:
    reps = e.params["reps"]
    return lambda x: np.tile(x, reps)


@rule("reshape", "squeeze")
def _reshape(e: Equation) -> Callable:
    shape, first = e.shape, e.params.get("dimensions") if e.name == "reshape" else None
    require(prod(e.ins[0].shape) == prod(shape))      # JAX does not check open sizes
    if first is not None:
        return lambda x: x.transpose(first).reshape(shape)
    return lambda x: x.reshape(shape)


@rule("transpose")
def _transpose(e: Equation) -> Callable:
    permutation = ints(e.params["permutation"])
    return lambda x: x.transpose(permutation)


@rule("rev")
def _rev(e: Equation) -> Callable:
    index = [slice(None)] * len(e.shape)
    for d in e.params["dimensions"]:
        index[d] = slice(None, None, -1)
    return lambda x, index=tuple(index): x[index]


@rule("slice")
def _slice(e: Equation) -> Callable:
    starts, limits, strides = e.params["start_indices"], e.params["limit_indices"], e.params["strides"]
    index = tuple(map(slice, starts, limits, strides or (1,) * len(starts)))
    return lambda x: x[index] if index else x


@rule("split")
def _split(e: Equation) -> Callable:
    axis, parts, start = e.params["axis"], [], 0
    for n in e.params["sizes"]:
        parts.append((slice(None),) * axis + (slice(start, start + n),))
        start += n
    return _parts(parts)


@rule("concatenate")
def _concatenate(e: Equation) -> Callable:
    axis = e.params["dimension"]
    return lambda *parts: np.concatenate(parts, axis)


@rule("stack")
def _stack(e: Equation) -> Callable:
    axis = e.params["axis"]
    return lambda *parts: np.stack(parts, axis)


@rule("unstack")
def _unstack(e: Equation) -> Callable:
    before = (slice(None),) * e.params["axis"]
    return _parts([(*before, k) for k in range(len(e.outs))])


def _parts(indices: list[tuple]) -> Callable:
    if len(indices) == 1:
        return lambda x: x[indices[0]]
    return lambda x: [x[i] for i in indices]


@rule("pad")
def _pad(e: Equation) -> Callable:
    return pad(e.ins[0].shape, e.shape, e.params["padding_config"])


def pad(old: tuple[int, ...], shape: tuple[int, ...], config) -> Callable:
    """Return ``lax.pad`` for these shapes. It pads between and around elements; a negative count removes elements."""
    into, of = [], []
    for n, size, (low, _, inner) in zip(old, shape, config, strict=True):
        step = inner + 1
        first = max(0, -(low // step)) if low < 0 else 0        # the first element that the result keeps
        start = low + first * step
        count = max(0, min(n - first, (size - start + step - 1) // step))
        into.append(slice(start, start + count * step, step))
        of.append(slice(first, first + count))
    target, source = tuple(into), tuple(of)

    def run(x, value):
        out = np.full(shape, value, x.dtype)
        out[target] = x[source]
        return out
    return run


@rule("iota")
def _iota(e: Equation) -> Callable:
    d, shape, dtype = e.params["dimension"], e.shape, e.dtype
    wide = [1] * len(shape)
    wide[d] = shape[d]
    return lambda *_: np.broadcast_to(np.arange(shape[d]).astype(dtype).reshape(wide), shape)


@rule("empty", "empty2", "zeros_like")
def _empty(e: Equation) -> Callable:
    shape, dtype = e.shape, e.dtype
    return lambda *_: np.zeros(shape, dtype)


@rule("size")
def _size(e: Equation) -> Callable:
    value = np.asarray(e.params["size"], e.dtype)
    return lambda: value
