"""Run held-back calls kernel by kernel, if they have no program or none yet."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jtorch.engine.parallel_compilation import compile_missing
from jtorch.engine.program import naming_line
from jtorch.engine.values import CPU, Value, aval_of, zero_stride_array
from jtorch.speedups import connect

if TYPE_CHECKING:
    from jtorch.engine.policy import Budget
    from jtorch.engine.trie import State

NUMBER_AVALS = {float: aval_of((), np.dtype(np.float64), CPU), int: aval_of((), np.dtype(np.int64), CPU),
                bool: aval_of((), np.dtype(np.bool_), CPU), complex: aval_of((), np.dtype(np.complex128), CPU)}


def number(x: Any) -> np.ndarray:
    """Return a Python number as a 0-dim array."""
    return np.asarray(x, NUMBER_AVALS[x.__class__].np)


def run(path: list[State], values: list[Value], numbers: list, budget: Budget, spare: dict[State, list[int]]) -> None:
    """Run the calls of ``path`` whose results are not computed. ``budget`` is the thread's.

    If a call raises, the others run nevertheless, and the first error is raised at the end. ``spare`` has the slots whose arrays
    are dropped after a call.
    """
    errors = []
    compile_missing(path)
    at = 0
    while (at := run_held(path, values, numbers, spare, at)) < len(path):
        s = path[at]
        at += 1
        if not _is_there(s, values):
            try:
                _run(s, values, numbers, budget)
            except Exception as error:
                errors.append(error)
        if s in spare and _is_there(s, values):      # If the call has failed, its arguments are kept for another try.
            for i in spare[s]:
                values[i].array = None
    if errors:
        raise errors[0]


def run_held(path: list[State], values: list[Value], numbers: list, spare: dict[State, list[int]], at: int) -> int:
    """Run the calls from place ``at`` on, up to one that C leaves to Python. Return its place.

    The extension does this. Without it each call is left to Python.
    """
    return at


def _is_there(s: State, values: list[Value]) -> bool:
    return not any([v.array is None for v in values[s.first:s.first + len(s.outs)]])


def spare_behind(path: list[State], held: bytes) -> dict[State, list[int]]:
    """Return for each call the slots that no later call reads and that are not needed afterwards, by their bits in ``held``."""
    last = {i: s for s in path for i in (*s.args, *range(s.first, s.first + len(s.outs))) if i >= 0 and not held[i]}
    out: dict[State, list[int]] = {}
    for i, s in last.items():
        out.setdefault(s, []).append(i)
    return out


def _run(s: State, values: list[Value], numbers: list, budget: Budget) -> None:
    """Run one call. Wrong argument values raise after it has run, as they do after a program."""
    arrays = [values[i].array if i >= 0 else number(numbers[-i - 1]) for i in s.args]
    for k, i in enumerate(s.args[:s.call.op.read_from(s.call.template, len(arrays))]):
        if i >= 0:      # Only the shape is read, and the array may be missing or overwritten.
            arrays[k] = zero_stride_array(s.kernel.avals[k].shape, s.kernel.avals[k].np)
    if any([a is None for a in arrays]):        # A call that makes an argument has raised.
        return
    outs = s.kernel.run(arrays, budget)
    for v, array in zip(values[s.first:s.first + len(s.outs)], outs, strict=True):
        v.array = array
    if s.kernel.check is not None:
        _check(s, arrays)


def _check(state: State, arrays: list) -> None:
    try:
        state.kernel.raise_if_bad(arrays)
    except Exception as error:
        naming_line(error, state)
        raise


connect(globals())
