"""Rules of sliding windows: pooling, its gradients, and convolution by oneDNN or as a matrix product."""
from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from jtorch.engine import policy, stats
from jtorch.engine.host.blas import matmul_for
from jtorch.engine.host.rules import (
    Equation,
    highest,
    in_compute_dtype,
    ints,
    kind,
    lowest,
    require,
    rule,
)
from jtorch.engine.host.shape import pad
from jtorch.ops import _onednn
from jtorch.ops.promotion import opmath


def _padder(shape, padding, dilation) -> tuple[Callable, tuple[int, ...]]:
    """Return a function that pads an array by ``padding`` around and ``dilation - 1`` between, and the padded shape."""
    config = [(low, high, d - 1) for (low, high), d in zip(padding, dilation, strict=True)]
    new = tuple(low + high + max(0, (n - 1) * (inner + 1) + 1)
                for n, (low, high, inner) in zip(shape, config, strict=True))
    if new == tuple(shape) and all(c == (0, 0, 0) for c in config):
        return (lambda x, value: x), new
    return pad(tuple(shape), new, config), new


def _offsets(e_params, out_shape) -> list[tuple[slice, ...]]:
    """Return, for each position in the window, the index of its elements in the padded operand."""
    window, strides = e_params["window_dimensions"], e_params["window_strides"]
    dilation = e_params.get("window_dilation") or (1,) * len(window)
    require(prod(window) <= policy.MEDIUM)
    return [tuple(slice(k * d, k * d + (n - 1) * s + 1, s)
                  for k, d, n, s in zip(at, dilation, out_shape, strides, strict=True))
            for at in product(*map(range, window))]


@rule("reduce_window_sum", "reduce_window_max", "reduce_window_min")
def _reduce_window(e: Equation) -> Callable:
    p, dtype = e.params, e.dtype
    which = e.name.rpartition("_")[2]
    combine = {"sum": np.add, "max": np.maximum, "min": np.minimum}[which]
    require(kind(dtype) != "c" or which == "sum")
    initial = {"sum": lambda d: 0, "max": lowest, "min": highest}[which](opmath(dtype))
    base = p.get("base_dilation") or (1,) * len(e.shape)
    padded, _ = _padder(e.ins[0].shape, p["padding"], base)
    offsets, shape = _offsets(p, e.shape), e.shape
    if 0 in shape:
        return lambda x: np.zeros(shape, dtype)

    def run(x):
        x = padded(x, initial)
        out = x[offsets[0]].copy()
        for at in offsets[1:]:
            combine(out, x[at], out=out)
        return out
    return in_compute_dtype(run, dtype)


def _selected(x: np.ndarray, offsets: list, prefers: np.ufunc) -> np.ndarray:
    """Return the selected position of each window.

    A later position replaces the selected one unless ``prefers`` holds for the selected element.
    """
    best = x[offsets[0]]
    chosen = np.zeros(best.shape, np.intp)
    for k, at in enumerate(offsets[1:], 1):
        keep = prefers(best, x[at])
        best, chosen = np.where(keep, best, x[at]), np.where(keep, chosen, k)
    return chosen


def _selection(e: Equation, operand) -> tuple[Callable, tuple[int, ...], np.ufunc, object]:
    name = e.params["select_prim"].name
    require(name in ("ge", "le", "gt", "lt") and kind(operand.dtype) != "c")
    base = e.params.get("base_dilation") or (1,) * len(operand.shape)
    padded, shape = _padder(operand.shape, e.params["padding"], base)
    prefers = {"ge": np.greater_equal, "gt": np.greater, "le": np.less_equal, "lt": np.less}[name]
    return padded, shape, prefers, (lowest if name in ("ge", "gt") else highest)(operand.dtype)


@rule("select_and_scatter_add")
def _select_and_scatter_add(e: Equation) -> Callable:
    source, operand = e.ins
    padded, shape, prefers, worst = _selection(e, operand)
    offsets = _offsets(e.params, source.shape)
    inner = tuple(slice(low, low + n) for (low, _), n in zip(e.params["padding"], operand.shape, strict=True))
    dtype, wide = e.dtype, opmath(e.dtype)
    zero = wide.type(0)

    def run(source, operand):
        out = np.zeros(shape, wide)
        if source.size:
            source = source.astype(wide, copy=False)
            chosen = _selected(padded(operand, worst), offsets, prefers)
            for k, at in enumerate(offsets):
                out[at] += np.where(chosen == k, source, zero)
        return out[inner].astype(dtype, copy=False)
    return run


@rule("select_and_gather_add")
def _select_and_gather_add(e: Equation) -> Callable:
    tangents, operand = e.ins
    padded, _, prefers, worst = _selection(e, operand)
    offsets, zero, shape, dtype = _offsets(e.params, e.shape), tangents.dtype.type(0), e.shape, e.dtype

    def run(tangents, operand):
        out = np.zeros(shape, dtype)
        if out.size:
            chosen, t = _selected(padded(operand, worst), offsets, prefers), padded(tangents, zero)
            for k, at in enumerate(offsets):
                np.copyto(out, t[at], where=chosen == k)
        return out
    return run


@rule("conv_general_dilated")
def _conv(e: Equation) -> Callable:
    p, dtype = e.params, e.dtype
    dn = p["dimension_numbers"]
    lhs_spec, rhs_spec, out_spec = ints(dn.lhs_spec), ints(dn.rhs_spec), ints(dn.out_spec)
    n, c, *space = (e.ins[0].shape[d] for d in lhs_spec)
    o, i, *kernel = (e.ins[1].shape[d] for d in rhs_spec)
    out_space = [e.shape[d] for d in out_spec[2:]]
    groups, by_batch = max(p["feature_group_count"], p["batch_group_count"]), p["batch_group_count"] > 1
    nb, depth, taps, spots = (n // groups if by_batch else n), i, prod(kernel), prod(out_space)
    require(groups * nb * depth * taps * spots <= policy.MUCH)
    shape, inverse = e.shape, np.argsort(out_spec).tolist()
    if 0 in e.ins[0].shape or 0 in e.ins[1].shape or 0 in shape:
        return lambda x, w: np.zeros(shape, dtype)
    padded, _ = _padder((n, c, *space), ((0, 0), (0, 0), *p["padding"]), (1, 1, *p["lhs_dilation"]))
    wide, ns = opmath(dtype), len(space)
    zero = wide.type(0)
    matmul = matmul_for(nb * spots, o // groups, depth * taps, wide)
    # (batch group, nb, feature group, depth) of the operand become (group, nb, spots..., depth, taps...)
    split = (groups, nb, 1, depth) if by_batch else (1, nb, groups, depth)

    def conv(x, w):
        x = padded(x.transpose(lhs_spec).astype(wide, copy=False), zero)
        patches = _patches(x, kernel, out_space, p["window_strides"], p["rhs_dilation"])
        patches = patches.reshape(split + patches.shape[2:])
        spaces = tuple(range(4, 4 + ns))
        patches = patches.transpose((0, 2, 1, *spaces, 3, *range(4 + ns, 4 + 2 * ns)))
        matrix = w.transpose(rhs_spec).astype(wide, copy=False).reshape(groups, o // groups, depth * taps)
        out = matmul(patches.reshape(groups, nb * spots, depth * taps), matrix.transpose(0, 2, 1))
        out = out.reshape(groups, nb, *out_space, o // groups)
        out = out.transpose((1, 0, ns + 2, *range(2, 2 + ns))).reshape(nb, o, *out_space)
        return out.transpose(inverse).astype(dtype, copy=False)
    return conv


@rule("onednn_convolution")
def _by_onednn(e: Equation) -> Callable:
    kind, geometry = e.params["kind"], e.params["geometry"]
    require(_onednn.is_quick(kind, geometry))       # the check was not possible while a size was open
    stats.counters.onednn += 1
    return _onednn.host_function(kind, geometry)


def _patches(x: np.ndarray, kernel, out_space, strides, dilation) -> np.ndarray:
    """Return a view (n, c, spots…, taps…) of a padded operand (n, c, space…)."""
    steps = x.strides[2:]
    moves = [s * k for s, k in zip(steps, strides, strict=True)] + [s * k for s, k in zip(steps, dilation, strict=True)]
    return as_strided(x, (*x.shape[:2], *out_space, *kernel), (*x.strides[:2], *moves), writeable=False)
