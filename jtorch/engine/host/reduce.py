"""Rules of reductions, scans along an axis, and sorting."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from string import ascii_lowercase

import numpy as np

from jtorch.engine import policy, stats
from jtorch.engine.host.rules import (
    FLOAT32,
    HALF,
    Equation,
    highest,
    in_compute_dtype,
    ints,
    kind,
    lowest,
    require,
    rule,
)
from jtorch.ops._onednn import batch_norm
from jtorch.ops.promotion import opmath

# NumPy's reductions have a cost for each row, so the rules avoid them for arrays of many short rows. They compute sums by
# ``einsum`` and maxima of a transposed copy. Longer sums stay with NumPy, which adds in pairs and so rounds less.
# SHORT_SUM is the upper limit in elements of a row for ``einsum``; a larger limit loses digits in longer sums.
SHORT_SUM = 2 * policy.MEDIUM


@rule("batch_statistics")
def _batch_statistics(e: Equation) -> Callable:
    stats.counters.batch_norms += 1
    return batch_norm.host_statistics(**e.params)


@rule("batch_norm_gradients")
def _batch_norm_gradients(e: Equation) -> Callable:
    stats.counters.batch_norms += 1
    return batch_norm.host_gradients


@rule("reduce_sum", "reduce_prod")
def _sum(e: Equation) -> Callable:
    axes, dtype = ints(e.params["axes"]), e.dtype
    wide, shape, out, keeps = opmath(dtype), e.ins[0].shape, e.shape, "keeps_dims" in e.params
    is_short = prod(shape) >= policy.MEDIUM and prod([shape[d] for d in axes]) <= SHORT_SUM and len(shape) <= len(ascii_lowercase)
    if e.name == "reduce_sum" and is_short and wide.kind == "f":
        letters = ascii_lowercase[:len(shape)]
        spelt = f"{letters}->{''.join([x for d, x in enumerate(letters) if d not in axes])}"
        return in_compute_dtype(lambda x: np.einsum(spelt, x).reshape(out), dtype)
    reduce: Callable = (np.add if e.name == "reduce_sum" else np.multiply).reduce
    return in_compute_dtype(lambda x: reduce(x, axes, wide, None, keeps), dtype)


@rule("reduce_max", "reduce_min")
def _max(e: Equation) -> Callable:
    axes, is_max, keeps = ints(e.params["axes"]), e.name == "reduce_max", "keeps_dims" in e.params
    shape, out = e.ins[0].shape, e.shape
    reduce: Callable = (np.maximum if is_max else np.minimum).reduce
    if 0 not in shape:
        if axes == (len(shape) - 1,) and shape[-1] <= policy.DOZENS and prod(shape[:-1]) >= policy.MEDIUM:
            return lambda x: reduce(np.ascontiguousarray(x.reshape(-1, shape[-1]).T), 0).reshape(out)
        return lambda x: reduce(x, axes, None, None, keeps)
    require(kind(e.dtype) != "c")
    initial = np.asarray((lowest if is_max else highest)(e.dtype), e.dtype)
    return lambda x: np.broadcast_to(initial, out)


@rule("reduce_and", "reduce_or", "reduce_xor")
def _bits(e: Equation) -> Callable:
    axes = ints(e.params["axes"])
    kinds: dict[str, np.ufunc] = {"reduce_and": np.bitwise_and, "reduce_or": np.bitwise_or, "reduce_xor": np.bitwise_xor}
    if kind(e.dtype) == "b":
        kinds = {"reduce_and": np.logical_and, "reduce_or": np.logical_or, "reduce_xor": np.logical_xor}
    reduce = kinds[e.name].reduce
    return lambda x: reduce(x, axes)


@rule("argmax", "argmin")
def _arg(e: Equation) -> Callable:
    (axis,) = e.params["axes"]
    find, dtype, half = (np.argmax if e.name == "argmax" else np.argmin), e.dtype, e.ins[0].dtype in HALF
    return lambda x: find(x.astype(FLOAT32) if half else x, axis).astype(dtype)


CUMULATIVE = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum,
              "cumlogsumexp": np.logaddexp}


@rule(*CUMULATIVE)
def _cumulative(e: Equation) -> Callable:
    require(e.name != "cumlogsumexp" or kind(e.dtype) == "f")
    axis, wide, accumulate = e.params["axis"], opmath(e.dtype), CUMULATIVE[e.name].accumulate
    back = (slice(None),) * axis + (slice(None, None, -1),)
    if e.params["reverse"]:
        return in_compute_dtype(lambda x: accumulate(x[back], axis, wide)[back], e.dtype)
    return in_compute_dtype(lambda x: accumulate(x, axis, wide), e.dtype)


def _order(keys, axis: int) -> np.ndarray:
    keys = [k.astype(FLOAT32) if k.dtype in HALF else k for k in keys]
    if len(keys) == 1:
        return np.argsort(keys[0], axis, kind="stable")
    order = np.argsort(keys[-1], axis, kind="stable")
    for key in keys[-2::-1]:        # each stable sort keeps the order by less significant keys
        step = np.argsort(np.take_along_axis(key, order, axis), axis, kind="stable")
        order = np.take_along_axis(order, step, axis)
    return order


@rule("sort")
def _sort(e: Equation) -> Callable:
    axis, n = e.params["dimension"], e.params["num_keys"]
    if len(e.ins) == 1 and e.dtype not in HALF:
        return lambda x: np.sort(x, axis, kind="stable")

    def sort(*arrays):
        order = _order(arrays[:n], axis)
        return [np.take_along_axis(x, order, axis) for x in arrays]
    return sort if len(e.ins) > 1 else lambda x: sort(x)[0]


def _with_signs(x: np.ndarray) -> np.ndarray:
    """Return floats as signed integers that sort like XLA's ``top_k``, and other numbers unchanged.

    NaN is above all numbers, and NaN with a sign is below them.
    """
    if kind(x.dtype) != "f":
        return x
    bits = x.view(f"i{x.dtype.itemsize}")
    return bits ^ ((bits >> (8 * x.dtype.itemsize - 1)) & np.iinfo(bits.dtype).max)


@rule("top_k")
def _top_k(e: Equation) -> Callable:
    k, dtype, size = e.params["k"], e.outs[1].dtype, e.ins[0].shape
    axis = e.params.get("axis", -1) % len(size)
    back = (slice(None),) * axis + (slice(None, None, -1),)
    first, n = (slice(None),) * axis + (slice(0, k),), size[axis]

    # A stable ascending sort of the reversed array, reversed again, is descending with ties in the order of their positions.
    def top_k(x):
        order = (n - 1 - _order([_with_signs(x)[back]], axis)[back])[first]
        return np.take_along_axis(x, order, axis), order.astype(dtype)
    return top_k
