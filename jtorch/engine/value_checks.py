"""Check argument values before a call is held back, so that an error comes before the rest of the step is recorded.

A compiled program reports wrong values at the end of its trace, when Python has already recorded the optimizer's step. But
indices are mostly inputs, or a few cheap calls make them from inputs. The host checks these when the call is recorded, and
raises. A decomposition of linear algebra ends its trace instead (``Kernel.ends``). All other errors come at the end of the
trace.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch.device as devices
from jtorch.engine import policy
from jtorch.engine.host.program import HostProgram
from jtorch.engine.interpreter import number
from jtorch.engine.program import made_by, naming_line
from jtorch.engine.values import zero_stride_array

if TYPE_CHECKING:
    from jtorch.engine.trace import Trace
    from jtorch.engine.trie import State



def look_ahead(trace: Trace, state: State) -> None:
    """Raise the error of wrong argument values of the last call, if the host has the values or computes them quickly."""
    kernel = state.kernel
    if kernel.check.__class__ is not HostProgram or devices.spans_processes(state.device):
        return
    if state.leading is None:
        state.leading = _leading_to(state)
    if state.leading is False:
        return
    values, numbers = trace.values, trace.numbers
    found: dict[int, Any] = {}
    for s in state.leading:
        found.update(zip(range(s.first, s.first + len(s.outs)),
                         s.kernel.on_host(_arrays(s, s.kernel.on_host, values, numbers, found)), strict=True))
    arrays = _arrays(state, kernel.check, values, numbers, found)
    if kernel.check(arrays)[0]:
        try:
            kernel.raise_if_bad(arrays)
        except Exception as error:
            raise naming_line(error, state) from None


def _leading_to(state: State) -> tuple[State, ...] | bool:
    """Return the calls of the trace that compute the checked values; False if the host should not run them."""
    before = state.parent.path() if state.parent is not None else []
    needed = _read(state, state.kernel.check) & made_by(before)
    out = []
    for s in reversed(before):
        if needed.isdisjoint(range(s.first, s.first + len(s.outs))):
            continue
        if s.kernel.on_host.__class__ is not HostProgram:
            return False
        out.append(s)
        needed |= _read(s, s.kernel.on_host)
    return tuple(reversed(out)) if _is_quick(out) else False


def _read(state: State, program: HostProgram) -> set[int]:
    return {i for i, used in zip(state.args, program.used, strict=True) if used and i >= 0}


def _is_quick(calls: list[State]) -> bool:
    inexact = [s for s in calls if any([a.is_inexact for a in s.outs])]
    return len(inexact) < policy.FEW and sum([s.kernel.work.host for s in calls]) <= policy.QUICK


def _arrays(state: State, program: HostProgram, values: list, numbers: list, found: dict[int, Any]) -> list:
    """Return the arguments of a call as NumPy arrays. Arguments that the program does not read are zeros."""
    out = []
    for i, used, aval in zip(state.args, program.used, state.kernel.avals, strict=True):
        if i < 0:
            out.append(number(numbers[-i - 1]))
        elif not used:
            out.append(zero_stride_array(aval.shape, aval.np))
        else:
            out.append(found[i] if i in found else np.asarray(values[i].array))
    return out
