"""Reads and writes at index tensors, the checks of the indices, and binary search, by NumPy.

The rules of ``index.py`` run what JAX makes of these ops: a dozen steps or more, which take longer than the op itself on small
arrays. This file makes an op one step. Scatters and sums use flat positions, so that NumPy goes through the values in their
order. If one element gets several values, the last value remains.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2
from typing import Any

import jax
import numpy as np

from jtorch.engine import cost
from jtorch.engine.host.index import is_large_for, write_lines
from jtorch.engine.host.program import HostProgram, of_function
from jtorch.engine.host.rules import in_copy
from jtorch.ops import promotion
from jtorch.ops.registry import Op, T
from jtorch.ops.strided import contiguous_strides

Maker = Callable[[tuple, Sequence[Any]], HostProgram | None]
COMBINE = {"sum": np.add, "amax": np.maximum, "amin": np.minimum}
_FLAG = [jax.ShapeDtypeStruct((), np.bool_)]


def indexed(op: Op, template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    """Return the host program of an op with index tensors; None if the arguments are not of the usual kind.

    Usual arrays have elements, and sizes and dtypes that fit. For other arrays the op's body raises the errors.
    """
    if any([a.numel == 0 for a in avals]):
        return None
    return MAKERS[op.name](template, avals)


def checked(op: Op, template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    """Return the host program that tells whether an index of the op is out of range.

    Return None if the op has another check, if an array is empty, or if the indices do not fit the array.
    """
    if op.name not in _CHECKS or any([a.numel == 0 for a in avals]):
        return None
    limits, used = _CHECKS[op.name](template, avals)
    if not limits:
        return None

    def is_bad(*indices: np.ndarray) -> bool:
        return any([np.minimum.reduce(i, None) < low or np.maximum.reduce(i, None) >= n
                    for i, (low, n) in zip(indices, limits, strict=True)])
    work = cost.of_places(sum([a.numel for a, u in zip(avals, used, strict=True) if u]))
    return of_function(is_bad, used, _FLAG, work, is_tuple=False)


# ---------------------------------------------------------------- index tensors for several dims

def _index(template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    marks, base = template[1], avals[0]
    shape = _shape_at(marks, base, avals[1:])
    if shape is None:
        return None
    sizes, out = _sizes(marks, base), jax.ShapeDtypeStruct(shape, base.np)
    return of_function(lambda x, *indices: _read(x, _places(marks, indices), sizes), (True,) * len(avals), [out],
                       cost.of_places(out.size, cost.PLACES["gather"]), is_tuple=False)


def _read(x: np.ndarray, places: tuple, sizes: list[int]) -> np.ndarray:
    try:
        return x[places]
    except IndexError:      # The check of the indices comes later and raises an error.
        left = iter(sizes)
        return x[tuple([p if p.__class__ is slice else np.clip(p, 0, next(left) - 1) for p in places])]


def _index_put(template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    marks, base, values, adds = template[1], avals[0], avals[-1], template[3]
    shape = _shape_at(marks, base, avals[1:-1])
    if shape is None or values.np != base.np or not _spreads(values.shape, shape) or (adds and not _are_rows(marks, base)):
        return None
    sizes = _sizes(marks, base)

    def write(x, *given):
        *indices, new = given
        if adds:
            return _combine(np.add, x, _lines(indices, sizes), np.broadcast_to(new, shape))
        x[_places(marks, [np.ascontiguousarray(i) for i in indices])] = new
        return x
    return _writing(write, avals, max(values.numel, avals[1].numel))


def _index_gradient(template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    marks, base, needs = template[0][1], avals[0], template[2]
    if needs != (0,) or not _are_rows(marks, base) or _shape_at(marks, base, avals[1:-1]) != avals[-1].shape \
            or avals[-1].np != base.np:
        return None
    sizes = _sizes(marks, base)

    def gradients(*given):
        *indices, gradient = given
        return [_combine(np.add, np.zeros(base.shape, base.np), _lines(indices, sizes), gradient)]
    return of_function(gradients, (False, *[True] * (len(avals) - 1)), [base.sds], _work_of_sums(base, avals[-1]), is_tuple=True)


def _shape_at(marks: tuple, base: Any, indices: Sequence[Any]) -> tuple[int, ...] | None:
    """Return the shape of an array at index tensors; None if they do not fit."""
    at = [d for d, mark in enumerate(marks) if mark is T]
    if len(marks) > len(base.shape) or not at or any([i.np not in (np.int64, np.int32) for i in indices]):
        return None
    try:
        wide = np.broadcast_shapes(*[i.shape for i in indices])
    except ValueError:
        return None
    first = at[0] if at[-1] - at[0] == len(at) - 1 else 0
    rest = [n for d, n in enumerate(base.shape) if d not in at]
    return (*rest[:first], *wide, *rest[first:])


def _places(marks: tuple, indices: Sequence[np.ndarray]) -> tuple:
    left = iter(indices)
    return tuple([next(left) if mark is T else slice(None) for mark in marks])


def _sizes(marks: tuple, base: Any) -> list[int]:
    return [n for n, mark in zip(base.shape, marks, strict=False) if mark is T]


def _are_rows(marks: tuple, base: Any) -> bool:
    """Return whether the first dims are indexed, and NumPy can add up elements of the dtype."""
    return all([mark is T for mark in marks]) and _adds(base)


def _adds(base: Any) -> bool:
    return base.np.isbuiltin and base.np.kind in "fiu" and base.np.itemsize > 2


def _lines(indices: Sequence[np.ndarray], sizes: list[int]) -> np.ndarray:
    """Return the row that index tensors for the first dims select, as one number for each."""
    line = np.where(indices[0] < 0, indices[0] + sizes[0], indices[0])
    for i, n in zip(indices[1:], sizes[1:], strict=True):
        line = line * n + np.where(i < 0, i + n, i)
    return line


def _combine(ufunc: np.ufunc, x: np.ndarray, lines: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Combine rows of a contiguous array with values, one after another, and return the array."""
    width = values.size // lines.size
    write_lines(x.reshape(-1, width), lines.reshape(-1), values.reshape(-1, width), ufunc)
    return x


# ---------------------------------------------------------------- an index vector along a dim

def _index_select(template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    base, index, dim = avals[0], avals[1], _dim(template, avals)
    if dim is None or len(index.shape) > 1 or index.np not in (np.int64, np.int32):
        return None
    out = jax.ShapeDtypeStruct((*base.shape[:dim], index.numel, *base.shape[dim + 1:]), base.np)

    def select(x, i):
        i = i.reshape(-1)
        if x.flags.c_contiguous:
            return x.take(i, dim, None, "clip")
        return _read(x, (*[slice(None)] * dim, i), [x.shape[dim]])      # ``take`` would copy all of a strided x
    return of_function(select, (True, True), [out], cost.of_places(out.size, cost.PLACES["gather"]), is_tuple=False)


def _index_copy(template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    dim = _dim(template, avals)
    if not _takes_source(dim, avals, (np.int64,)):
        return None

    def write(x, i, new):
        x[(*[slice(None)] * dim, i.reshape(-1))] = new
        return x
    return _writing(write, avals, avals[2].numel)


def _index_add(template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    if _dim(template, avals) != 0 or template[4] != 1 or len(avals) != 3 or not _adds(avals[0]) \
            or not _takes_source(0, avals, (np.int64, np.int32)):
        return None
    return _writing(lambda x, i, new: _combine(np.add, x, i, new), avals, avals[2].numel)


def _takes_source(dim: int | None, avals: Sequence[Any], dtypes: tuple) -> bool:
    base, index, source = avals
    return dim is not None and len(index.shape) == 1 and index.np in dtypes and source.np == base.np \
        and source.shape == (*base.shape[:dim], index.numel, *base.shape[dim + 1:])


# ---------------------------------------------------------------- an index for each element

def _gather(template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    base, index, dim = avals[0], avals[1], _dim(template, avals)
    if dim is None or not _is_inside(dim, base, index):
        return None
    flat, out = _flat_of(dim, base, index), jax.ShapeDtypeStruct(index.shape, base.np)
    return of_function(lambda x, i: x.take(flat(i), None, None, "clip"), (True, True), [out],
                       cost.of_places(out.size, cost.PLACES["gather"]), is_tuple=False)


def _gather_gradient(template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    base, index, gradient = avals
    dim = _dim(template[0], avals)
    if dim is None or template[2] != (0,) or not _is_inside(dim, base, index) or not _adds(base) or gradient.np != base.np \
            or gradient.shape != index.shape:
        return None
    flat = _flat_of(dim, base, index)
    return of_function(lambda i, g: [_combine(np.add, np.zeros(base.shape, base.np), flat(i), g)], (False, True, True),
                       [base.sds], _work_of_sums(base, gradient), is_tuple=True)


def _scatter(template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    if template[4:] != (None, None):
        return None
    number = len(avals) == 3 and avals[2].shape == () and avals[0].np.kind == "f" and avals[2].np.kind in "fib"

    def put(x, places, new):
        x.reshape(-1)[places.reshape(-1)] = new.reshape(-1)
        return x
    return _scattering(template, avals, put, number=number)


def _scatter_combined(template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    reduce, *more = template[4:] or ("sum",)
    if reduce not in COMBINE or more not in ([], [True]) or not _adds(avals[0]):
        return None
    return _scattering(template, avals, lambda x, places, new: _combine(COMBINE[reduce], x, places, new))


def _scattering(template: tuple, avals: Sequence[Any], put: Callable, *, number: bool = False) -> HostProgram | None:
    """Return the host program that puts the values of a source, or one number, at flat positions."""
    if len(avals) != 3:
        return None
    base, index, source = avals
    dim = _dim(template, avals)
    fits = number or (source.np == base.np and len(source.shape) == len(index.shape)
                      and all([n <= m for n, m in zip(index.shape, source.shape, strict=True)]))
    if dim is None or not fits or not _is_inside(dim, base, index):
        return None
    flat, part = _flat_of(dim, base, index), tuple([slice(n) for n in index.shape])

    def write(x, i, new):
        return put(x, flat(i), new if number else new[part])
    return _writing(write, avals, index.numel)


def _dim(template: tuple, avals: Sequence[Any]) -> int | None:
    rank, dim = len(avals[0].shape), template[1]
    return dim % rank if dim.__class__ is int and -rank <= dim < rank else None


def _is_inside(dim: int, base: Any, index: Any) -> bool:
    """Return whether an index of integers has the base's rank and, in dims other than ``dim``, no larger sizes."""
    return index.np in (np.int64, np.int32) and len(index.shape) == len(base.shape) \
        and all([d == dim or n <= m for d, (n, m) in enumerate(zip(index.shape, base.shape, strict=True))])


def _flat_of(dim: int, base: Any, index: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that makes flat positions in the base of an index along ``dim``."""
    strides, rank = contiguous_strides(base.shape), len(base.shape)
    offsets = np.zeros((), np.int64)
    for d, n in enumerate(index.shape):
        if d != dim:
            offsets = offsets + (np.arange(n) * strides[d]).reshape([-1 if k == d else 1 for k in range(rank)])
    step = strides[dim]
    return lambda i: i * step + offsets


# ---------------------------------------------------------------- binary search

def _search(sequence: Any, values: Any, right: bool, out_int32: bool, order: tuple[int, int]) -> HostProgram | None:
    kinds = [(np.dtype(a.np), promotion.DIM if a.shape else promotion.ZERO_DIM) for a in (sequence, values)]
    found = promotion.result_type(kinds)
    if len(sequence.shape) != 1 or not found.isbuiltin or found.kind not in "fiu":
        return None
    side, made = "right" if right else "left", np.dtype(np.int32 if out_int32 else np.int64)

    def search(*given):
        rows, wanted = [given[k].astype(found, copy=False) for k in order]
        at = np.asarray(np.searchsorted(rows, wanted, side))        # type: ignore[call-overload]
        if found.kind == "f" and (is_nan := wanted != wanted).any():
            at = np.where(is_nan, rows.size, at)
        return at.astype(made, copy=False)
    work = cost.of_places(values.numel, cost.CHEAP * 8 * log2(sequence.numel + 1))
    return of_function(search, (True, True), [jax.ShapeDtypeStruct(values.shape, made)], work, is_tuple=False)


def _searchsorted(template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    _, _, out_int32, right, side, sorter = template
    if sorter is not None or side not in (None, "right") or len(avals) != 2:
        return None
    return _search(avals[0], avals[1], right or side == "right", out_int32, (0, 1))


def _bucketize(template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    return _search(avals[1], avals[0], template[3], template[2], (1, 0))


# ---------------------------------------------------------------- helpers and tables

def _writing(write: Callable, avals: Sequence[Any], written: int) -> HostProgram:
    """Return a program that writes into the first array, or into a copy of it."""
    used, base = (True,) * len(avals), avals[0]
    fn = in_copy(write)
    is_one = avals[1].numel == 1
    return of_function(fn if is_one or is_large_for(base.numel, written) else fn.copying, used, [base.sds],
                       cost.of_places(written, cost.PLACES["scatter"]), is_tuple=False)


def _work_of_sums(base: Any, values: Any) -> cost.Work:
    return cost.of_copying(base.numel) + cost.of_places(values.numel, cost.PLACES["scatter-add"])


def _spreads(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Return whether an array of this shape can be broadcast to another shape."""
    return len(shape) <= len(to) and all([n in (1, m) for n, m in zip(shape[::-1], to[::-1], strict=False)])


def _limits_at(template: tuple, avals: Sequence[Any]) -> tuple[list, tuple[bool, ...]]:
    dim = _dim(template, avals)
    if dim is None:
        return [], ()
    return [(0, avals[0].shape[dim])], (False, True, *[False] * (len(avals) - 2))


def _limits_of_tensors(template: tuple, avals: Sequence[Any]) -> tuple[list, tuple[bool, ...]]:
    sizes, count = _sizes(template[1], avals[0]), sum([mark is T for mark in template[1]])
    return [(-n, n) for n in sizes] if len(sizes) == count else [], \
        (False, *[True] * count, *[False] * (len(avals) - 1 - count))


MAKERS: dict[str, Maker] = {
    "index": _index, "index.vjp": _index_gradient, "index_put": _index_put,
    "index_select": _index_select, "index_copy": _index_copy, "index_add": _index_add,
    "gather": _gather, "gather.vjp": _gather_gradient,
    "scatter": _scatter, "scatter_add": _scatter_combined, "scatter_reduce": _scatter_combined,
    "searchsorted": _searchsorted, "bucketize": _bucketize,
}
_CHECKS = {"index": _limits_of_tensors, "index_put": _limits_of_tensors,
           **dict.fromkeys(["gather", "scatter", "scatter_add", "scatter_reduce", "index_select", "index_copy", "index_add"],
                           _limits_at)}
