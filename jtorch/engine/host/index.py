"""Rules of indexing: dynamic slices, and gather and scatter with all their dimension numbers.

Gather and scatter become one advanced index of NumPy. Operand dimensions that are taken whole are moved last and need no index.
Each other dimension gets an array of positions, which broadcasts over (batch dimensions, partial windows).
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from jtorch.engine import policy
from jtorch.engine.host.rules import Equation, highest, in_copy, ints, kind, lowest, require, rule


def is_large_for(elements: int, written: int) -> bool:
    """Return whether copying an array of ``elements`` would take most of the time of a write to ``written`` of them."""
    return policy.MANY * written <= elements


@rule("dynamic_slice")
def _dynamic_slice(e: Equation) -> Callable:
    require(len(e.ins) == 1 + len(e.shape))
    sizes = e.shape
    limits = [n - m for n, m in zip(e.ins[0].shape, sizes, strict=True)]

    def run(x, *starts):
        return x[_window(starts, limits, sizes)]
    return run


@rule("dynamic_update_slice")
def _dynamic_update_slice(e: Equation) -> Callable:
    sizes = e.ins[1].shape
    limits = [n - m for n, m in zip(e.shape, sizes, strict=True)]

    def write(out, update, *starts):
        out[_window(starts, limits, sizes)] = update
        return out
    return in_copy(write)


def _window(starts, limits, sizes) -> tuple[slice, ...]:
    index = []
    for start, limit, size in zip(starts, limits, sizes, strict=True):
        s = min(max(int(start), 0), limit)
        index.append(slice(s, s + size))
    return tuple(index)


@dataclass(slots=True)
class _Layout:
    """The operand dimensions that a gather or a scatter indexes, and how it indexes them."""

    shape: tuple[int, ...]          # shape of the operand
    sizes: tuple[int, ...]          # size of the window, per operand dimension
    batch: tuple[int, ...]          # shape of the indices without the index vector
    start_map: tuple[int, ...]      # operand dimension of each element of the index vector
    batching: dict[int, int]        # operand dimension -> batch dimension with the same position
    windows: tuple[int, ...]        # operand dimensions that the result (or the updates) keep
    whole: list[int]                # window dimensions that are taken whole
    part: list[int]                 # window dimensions that are taken in part

    @property
    def lead(self) -> list[int]:
        return [d for d in range(len(self.shape)) if d not in self.whole]

    @property
    def is_of_rows(self) -> bool:
        """Whether the only index is along the first dimension, so that whole rows are taken."""
        return self.lead == [0] == list(self.start_map) and not self.part

    def positions(self) -> Callable[[np.ndarray], tuple]:
        """Return a function that gives an index for each dimension of ``lead``.

        The function takes the indices, whose last dimension is the index vector.
        """
        nb, npart = len(self.batch), len(self.part)
        spread, several = self.batch + (1,) * npart, len(self.start_map) > 1
        fixed: list[np.ndarray | int] = []
        given = [self.start_map.index(d) if d in self.start_map else None for d in self.lead]
        for d in self.lead:
            at: np.ndarray | int = 0
            if d in self.batching and d not in self.start_map:
                at = _along(self.batching[d], nb + npart, self.shape[d])
            if d in self.part:
                at = at + _along(nb + self.part.index(d), nb + npart, self.sizes[d])
            fixed.append(at)

        def place(start: np.ndarray, k: int | None, at: np.ndarray | int) -> np.ndarray | int:
            if k is None:
                return at
            chosen = (start[..., k] if several else start).reshape(spread)
            return chosen if at.__class__ is int else chosen + at
        return lambda start: tuple([place(start, k, at) for k, at in zip(given, fixed, strict=True)])

    def limits(self) -> np.ndarray:
        """Return the largest valid start for each element of the index vector."""
        return np.array([self.shape[d] - self.sizes[d] for d in self.start_map], np.intp)

    def axes(self, window_positions: tuple[int, ...]) -> list[int]:
        """Return, for each dimension of the result, its position in (batch, partial windows, whole windows)."""
        nb, order = len(self.batch), [*self.part, *self.whole]
        batch = iter(range(nb))
        return [nb + order.index(self.windows[window_positions.index(d)]) if d in window_positions else next(batch)
                for d in range(nb + len(order))]


def _along(axis: int, rank: int, n: int) -> np.ndarray:
    return np.arange(n).reshape((1,) * axis + (n,) + (1,) * (rank - axis - 1))


def _layout(shape, sizes, batch, start_map, op_batch, index_batch, dropped, *, clamps: bool) -> _Layout:
    """Return the layout. With ``clamps`` a window as long as its dimension takes the whole dimension, whatever its start."""
    windows = tuple(d for d in range(len(shape)) if d not in dropped and d not in op_batch)
    whole = [d for d in windows if sizes[d] == shape[d] and (clamps or d not in start_map)]
    return _Layout(shape, sizes, batch, start_map, dict(zip(op_batch, index_batch, strict=True)), windows, whole,
                   [d for d in windows if d not in whole])


def _starts_within(limits: np.ndarray) -> Callable:
    """Return a function that clamps indices to 0 ... ``limits``.

    The function returns the clamped starts, and a mask of the starts that were inside; None if all starts were inside.
    """
    bounds = limits.view(np.uintp)

    def starts(indices):
        start = indices if indices.dtype == np.intp else indices.astype(np.intp)
        inside = start.view(np.uintp) <= bounds     # negative numbers are large as unsigned ones
        if inside.all():
            return start, None
        return np.minimum(np.maximum(start, 0), limits), inside.all(-1)
    return starts


@rule("gather")
def _gather(e: Equation) -> Callable:
    dn, sizes, mode = e.params["dimension_numbers"], ints(e.params["slice_sizes"]), e.params["mode"].name
    require(mode in ("CLIP", "PROMISE_IN_BOUNDS", "FILL_OR_DROP"))
    layout = _layout(e.ins[0].shape, sizes, e.ins[1].shape[:-1], ints(dn.start_index_map),
                     ints(dn.operand_batching_dims), ints(dn.start_indices_batching_dims),
                     ints(dn.collapsed_slice_dims), clamps=True)
    permutation = [*layout.lead, *layout.whole]
    axes, npart, shape, dtype = layout.axes(ints(dn.offset_dims)), len(layout.part), e.shape, e.dtype
    fills = mode == "FILL_OR_DROP"
    fill = _fill_value(e.params["fill_value"], dtype)
    if 0 in e.ins[0].shape or 0 in shape:
        return lambda x, i: np.full(shape, fill, dtype)
    unmoved, ordered, starts = permutation == sorted(permutation), axes == sorted(axes), _starts_within(layout.limits())
    rows, positions = layout.is_of_rows, layout.positions()
    before = layout.batch + (1,) * npart
    middle = layout.batch + tuple(sizes[d] for d in layout.part + layout.whole)

    def gather(x, indices):
        start, inside = starts(indices)
        if rows:
            out = x.take(start[..., 0], 0) if x.flags.c_contiguous else x[start[..., 0]]    # ``take`` copies all of a strided x
        else:
            out = (x if unmoved else x.transpose(permutation))[positions(start)]
        if inside is not None and fills:
            out = np.broadcast_to(out, middle)
            out = np.where(inside.reshape(before + (1,) * (out.ndim - len(before))), out, fill)
        out = out if ordered else np.broadcast_to(out, middle).transpose(axes)
        return out if out.shape == shape else np.broadcast_to(out, shape)
    if rows and ordered and not fills and kind(e.ins[1].dtype) == "i":
        return lambda x, i: x.take(i[..., 0], 0, None, "clip") if x.flags.c_contiguous else gather(x, i)
    return gather


def _fill_value(value, dtype: np.dtype):
    if value is None:
        if kind(dtype) in "bu":
            value = highest(dtype)
        else:
            value = np.nan if kind(dtype) in "fc" else lowest(dtype)
    return np.asarray(value).astype(dtype)


COMBINE = {"scatter-add": np.add, "scatter-sub": np.subtract, "scatter-mul": np.multiply, "scatter-min": np.minimum,
           "scatter-max": np.maximum}


@rule("scatter", *COMBINE)
def _scatter(e: Equation) -> Callable:
    dn, mode, combine = e.params["dimension_numbers"], e.params["mode"].name, COMBINE.get(e.name)
    require(mode in ("CLIP", "PROMISE_IN_BOUNDS", "FILL_OR_DROP"))
    require(combine is not None or _overwrites(e.params["update_jaxpr"]))
    operand, indices, updates = (v.shape for v in e.ins)
    layout = _scatter_layout(dn, operand, indices, updates, clamps=mode == "CLIP")
    permutation, tail = [*layout.lead, *layout.whole], tuple(operand[d] for d in layout.whole)
    lead = tuple(operand[d] for d in layout.lead)
    to_middle = np.argsort(layout.axes(ints(dn.update_window_dims))).tolist()
    inverse = np.argsort(permutation).tolist()
    starts, rows, width = _starts_within(layout.limits()), prod(lead), prod(tail)
    steps = [prod(lead[i + 1:]) for i in range(len(lead))]
    if 0 in operand or 0 in updates:
        return lambda x, i, u: x

    of_rows, positions = layout.is_of_rows, layout.positions()

    def lines(start, shape):
        if of_rows:
            return start[..., 0]
        return np.broadcast_to(sum([p * s for p, s in zip(positions(start), steps, strict=True)], np.intp(0)), shape)

    def write(out, indices, updates):
        (start, inside), updates = starts(indices), np.asarray(updates).transpose(to_middle)
        line = lines(start, updates.shape[:updates.ndim - len(tail)])
        if inside is not None and mode != "CLIP":
            line, updates = line[inside], updates[inside]
        write_lines(out.reshape(rows, width), line.reshape(-1), updates.reshape(-1, width), combine)
        return out

    def scatter(x, indices, updates):
        return write(np.array(x.transpose(permutation), order="C"), indices, updates).transpose(inverse)

    def write_across(x, indices, updates):
        (start, inside), updates = starts(indices), np.asarray(updates).transpose(to_middle)
        places = positions(start)
        if inside is not None and mode != "CLIP":
            shape = updates.shape[:updates.ndim - len(tail)]
            places, updates = tuple([np.broadcast_to(p, shape)[inside] for p in places]), updates[inside]
        shown = x.transpose(permutation)
        if combine is None:
            shown[places] = updates
        else:
            combine.at(shown, places, updates)
        return x
    if not is_large_for(e.ins[0].size, e.ins[2].size):
        return scatter
    return in_copy(write if permutation == sorted(permutation) else write_across)


def _scatter_layout(dn, operand, indices, updates, *, clamps: bool) -> _Layout:
    op_batch, inserted = ints(dn.operand_batching_dims), ints(dn.inserted_window_dims)
    sizes, taken = [1] * len(operand), iter(ints(dn.update_window_dims))
    for d in range(len(operand)):
        if d not in inserted and d not in op_batch:
            sizes[d] = updates[next(taken)]
    return _layout(operand, tuple(sizes), indices[:-1], ints(dn.scatter_dims_to_operand_dims), op_batch,
                   ints(dn.scatter_indices_batching_dims), inserted, clamps=clamps)


def write_lines(out: np.ndarray, line: np.ndarray, updates: np.ndarray, combine: np.ufunc | None) -> None:
    """Set ``out[line] = updates``, or combine each update with the old element. Duplicates are combined one after another."""
    width = out.shape[1]
    if combine is None:
        out[line] = updates
    elif width == 1:
        combine.at(out.reshape(-1), line, updates.reshape(-1))
    else:           # NumPy is fastest with a flat index
        flat = (line[:, None] * width + np.arange(width)).reshape(-1)
        combine.at(out.reshape(-1), flat, np.ascontiguousarray(updates).reshape(-1))


def _overwrites(update_jaxpr) -> bool:
    if update_jaxpr is None:
        return True
    jaxpr = getattr(update_jaxpr, "jaxpr", update_jaxpr)
    return not jaxpr.eqns and jaxpr.outvars[0] is jaxpr.invars[1]
