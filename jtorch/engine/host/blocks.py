"""Run elementwise steps on large arrays block by block, so that a block stays in the processor's cache.

NumPy reads and writes memory once for each step, and allocates an array for each result. With blocks only the outputs are
whole arrays.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from jtorch.engine import cost, policy, stats
from jtorch.engine.host.elementwise import SAME, THROUGH_FLOAT32

NAMES = frozenset({*SAME, *THROUGH_FLOAT32, "div", "integer_pow", "rsqrt", "logistic", "one_minus_square", "sign", "clamp",
                   "select_n", "convert_element_type", "reduce_precision"})


def merged(steps: Sequence[Any], avals: Sequence[Any], wanted: Iterable[int]) -> list[Any]:
    """Merge runs of elementwise steps on large arrays of one shape, and return the steps of the host program.

    A step has an ``equation``, ``fn``, ``ins`` and ``outs``. ``wanted`` are the program's outputs.
    """
    made: list[Any] = []
    run: list[Any] = []
    for step in steps:
        shape = _shape_of(step)
        if run and (shape is None and not _depends_on(step, run)):
            made.append(step)       # The step does not read results of the run, so it goes before the run.
            continue
        if run and shape != run[0].equation.shape:
            made += _ended(run, steps, avals, wanted)
            run = []
        if shape is None:
            made.append(step)
        else:
            run.append(step)
    return made + _ended(run, steps, avals, wanted)


def _shape_of(step: Any) -> tuple[int, ...] | None:
    """Return the shape of a step that can run in blocks; None for another step."""
    e = getattr(step, "equation", None)     # a fused step has no equation
    if e is None or step.fn is None or e.name not in NAMES or len(e.outs) != 1 or prod(e.shape) < policy.SHARED:
        return None
    return e.shape if all([a.shape == e.shape or a.shape == () for a in e.ins]) else None


def _depends_on(step: Any, run: list[Any]) -> bool:
    return not {o for s in run for o in s.outs}.isdisjoint(step.ins)


def _ended(run: list[Any], steps: Sequence[Any], avals: Sequence[Any], wanted: Iterable[int]) -> list[Any]:
    if len(run) < 2:
        return run
    inside = set(map(id, run))
    read = {*wanted, *[i for s in steps if id(s) not in inside for i in s.ins]}
    made = [o for s in run for o in s.outs]
    outs = [o for o in made if o in read]
    ins = list(dict.fromkeys([i for s in run for i in s.ins if i not in made]))
    stats.counters.in_blocks += 1
    return [Merged(run, ins, outs, avals)]


class Merged:
    """A step that runs several steps in blocks. It takes the values ``ins`` and gives the values ``outs``."""

    def __init__(self, steps: list[Any], ins: list[int], outs: list[int], avals: Sequence[Any]):
        equations = [s.equation for s in steps]
        self.fn, self.ins, self.outs = Blocked(steps, ins, outs, equations[0].shape, avals), ins, outs
        arrays = len([i for i in ins if avals[i].shape != ()]) + len(outs)
        self.work = cost.of_blocks(equations, arrays, prod(equations[0].shape) // policy.CACHED)


class Blocked:
    """A function that runs elementwise steps in blocks. It takes arrays, and returns an array or a list of arrays."""

    __slots__ = ("_code", "_dtypes", "_is_large", "_outs", "_shape", "_size")

    def __init__(self, steps: list[Any], ins: list[int], outs: list[int], shape: tuple[int, ...], avals: Sequence[Any]):
        names = {value: k for k, value in enumerate(dict.fromkeys([*ins, *[o for s in steps for o in s.outs]]))}
        self._code = [(s.fn, [names[i] for i in s.ins]) for s in steps]
        self._outs, self._dtypes = [names[o] for o in outs], [np.dtype(avals[o].dtype) for o in outs]
        self._is_large = [avals[i].shape != () for i in ins]
        self._shape, self._size = shape, prod(shape)

    def __call__(self, *arrays: np.ndarray) -> Any:
        made = self._in_blocks([_in_a_row(a) if is_large else a for a, is_large in zip(arrays, self._is_large, strict=True)])
        return made if len(made) != 1 else made[0]

    def _run(self, slots: list) -> list:
        for fn, ins in self._code:
            slots.append(fn(*[slots[i] for i in ins]))
        return slots

    def _in_blocks(self, arrays: list) -> list[np.ndarray]:
        made = [np.empty(self._size, dtype) for dtype in self._dtypes]

        for at in range(0, self._size, policy.CACHED):
            here = slice(at, at + policy.CACHED)
            slots = self._run([a[here] if is_large else a for a, is_large in zip(arrays, self._is_large, strict=True)])
            for array, i in zip(made, self._outs, strict=True):
                array[here] = slots[i]
        return [m.reshape(self._shape) for m in made]


def _in_a_row(x: np.ndarray) -> np.ndarray:
    """Return an array with one dim, copied only if its elements are not contiguous in memory."""
    if not any(x.strides):      # a broadcast number
        return np.broadcast_to(x[(slice(1),) * x.ndim].reshape(1), (x.size,))
    return x if x.ndim == 1 else np.ascontiguousarray(x).reshape(-1)
