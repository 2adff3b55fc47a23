"""Programs: a whole record compiled by XLA, keyed by which of its values somebody still holds.

Values that nobody holds are not outputs, so XLA fuses them away; inputs that nobody else holds are donated, so that an
optimizer's update happens in place.
"""
from __future__ import annotations

import time
from sys import getrefcount
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.engine import cache, stats
from jtorch.engine.kernel import flatten, value_error
from jtorch.engine.values import CPU, Value, aval_of, device_array, put
from jtorch.engine.wait import wait
from jtorch.flags import ENGINE_MODE
from jtorch.ops.registry import Marker

if TYPE_CHECKING:
    from jtorch.engine.record import State

MAX_PROGRAMS = 512
_compiled: dict[Program, tuple[State, bytes]] = {}      # all programs, with where they hang in the trie


def _counts(values: list[Value]) -> list[int]:
    return list(map(getrefcount, values))


# What getrefcount says of a value that only a record's list holds; measured, since it differs between Pythons.
_UNHELD = _counts([Value(None)])[0]     # type: ignore[arg-type]


def _count_in_lists() -> int:
    """What getrefcount says of an array that a value holds and two lists, as in ``Program.run``."""
    value = Value(None, object())       # type: ignore[arg-type]
    arrays = [value.array]
    given = arrays[:1]
    return max(map(getrefcount, given))


_UNSHARED_IN_LISTS = _count_in_lists()


def pattern(values: list[Value]) -> bytes:
    """For each slot of a record, 1 if anybody beside the record holds its value, else 0."""
    return bytes(map(_UNHELD.__lt__, map(getrefcount, values)))


class Budget:
    """How much time compiling may take: what it is expected to, learnt from what it took, and how much is left.

    A program whose shapes vary would otherwise spend its life in the compiler (800 steps with 32 batch sizes: 22 of 24 s).
    """

    FIRST, SHARE = 5.0, 0.3     # seconds that may be spent at once; then a share of the time that has gone by

    def __init__(self):
        self.start, self.spent, self.factor = time.perf_counter(), 0.0, 1.0

    def expected(self, calls: int) -> float:
        """About what compiling a record of so many calls takes; measured in docs/engine.md."""
        return (0.03 + 0.008 * calls) * self.factor

    def note(self, calls: int, seconds: float) -> None:
        """Learns from a compilation."""
        self.spent += seconds
        self.factor = min(max(0.5 * self.factor + 0.5 * seconds / (0.03 + 0.008 * calls), 0.5), 10.0)

    def allows(self, calls: int) -> bool:
        """Whether there is time left for a record of so many calls."""
        return self.spent + self.expected(calls) <= self.FIRST + self.SHARE * (time.perf_counter() - self.start)


budget = Budget()


def heat(state: State) -> None:
    """Makes the calls on the way to ``state`` be held back from now on, and the record be compiled at its next end."""
    state.why = state.why or f"ran {state.count} times call by call, {state.cost * 1e3:.1f} ms in all"
    while state.parent is not None and not state.hot:
        state.hot = True
        state = state.parent


def wanted(state: State, held: bytes, natural: bool) -> Program | None:
    """The program to compile for a record whose calls were held back, or None if it has not come up often enough."""
    if (not natural and ENGINE_MODE != "hot") or state.device.type == "meta":
        return None
    if ENGINE_MODE == "hot":
        return _compile(state, held, "JTORCH_ENGINE=hot")
    state.seen[held] = times = state.seen.get(held, 0) + 1
    if state.why is None:                 # others go on from here, but this end has not been compiled yet
        if times >= 16 and budget.allows(state.depth) and not is_timing_loop(state):
            return _compile(state, held, f"ended here {times} times on the way to a program")
        return None
    if len(state.programs) > 0 and times < 4:
        return None
    return _compile(state, held, state.why)


def _compile(state: State, held: bytes, why: str) -> Program:
    made = Program(state, held, why)
    state.programs[held] = made
    _compiled[made] = (state, held)
    if len(_compiled) > MAX_PROGRAMS:
        old, old_held = _compiled.pop(min(_compiled, key=lambda p: p.last_run))
        old.programs.pop(old_held, None)
        old.recent.clear()
        _cool(old)
    return made


def _cool(state: State) -> None:
    """Takes back ``heat`` where no program is left on the way."""
    while state.parent is not None and not state.programs \
            and not any(s.hot for s in state.next.values()):
        state.hot, state.count, state.cost = ENGINE_MODE == "hot", 0, 0.0
        state.why = None
        state.seen.clear()
        state = state.parent


def forget() -> None:
    """Drops all programs, with the trie they hang in."""
    _compiled.clear()


def unconsumed(path: list[State]) -> list[int]:
    """The first slot of each call whose results no later call uses. They stay outputs: asked-for work is done."""
    used = {i for s in path for i in s.args if i >= 0}
    return [s.first for s in path if s.outs and not any(i in used for i in range(s.first, s.first + len(s.outs)))]


def is_timing_loop(state: State) -> bool:
    """Whether the record computes the same thing over and over and drops it. Compiled, it would compute it once."""
    path = state.path()
    calls = [(s.call, s.args) for s in path]
    if len(set(calls)) == len(calls):
        return False
    dropped = set(unconsumed(path))
    repeated = [s for s in path if s.first in dropped and calls.count((s.call, s.args)) > 1]
    return len(repeated) > 1


class Program:
    """A record compiled for one pattern of held values. ``run`` gives the held values their arrays."""

    def __init__(self, state: State, held: bytes, why: str):
        self.path = state.path()
        self.line, self.runs, self.why = state.line, 0, why
        self.quick = True
        self.last_run = stats.counters.program_runs     # the least recently run goes first
        made = {i for s in self.path for i in range(s.first, s.first + len(s.outs))}
        self.ins = [i for i in range(len(held)) if i not in made]
        kept = set(unconsumed(self.path))
        self.outs = [i for i in sorted(made, reverse=True) if held[i] or i in kept]
        self.avals = self._avals()
        self.donated = self._donated(held)
        self.checks = [s for s in self.path if s.call.check is not None]
        self._plan_numbers()
        start = time.perf_counter()
        self.compiled = self._compile()
        self.seconds = time.perf_counter() - start
        budget.note(len(self.path), self.seconds)
        stats.program_compiled(self, why, self.seconds)

    def summary(self) -> str:
        """What was compiled, in a few words."""
        names = [s.call.op.name for s in self.path]
        shown = ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:3])}, …, {', '.join(names[-2:])}"
        return f"{len(names)} calls ({shown}), {len(self.ins)} inputs, {len(self.outs)} outputs, {len(self.donated)} donated"

    def _avals(self) -> dict:
        avals = {}
        for s in self.path:
            for i, aval in zip(s.args, s.kernel.avals, strict=True):
                if i >= 0:
                    avals[i] = aval
            for k, aval in enumerate(s.outs):
                avals[s.first + k] = aval
        return avals

    def _donated(self, held: bytes) -> list[int]:
        """The inputs that nobody else holds and whose memory an output can take.

        JAX gives each output, in order, the first donated buffer of its type. Both go from the last to the first here: the
        optimizer's results, which come last, meet the parameters and states they replace, in their own order. Any other
        pairing makes XLA copy every buffer first (25 copies in the step of a small MLP, 60 µs).
        """
        room: dict = {}
        for i in self.outs:
            room[self.avals[i]] = room.get(self.avals[i], 0) + 1
        donated = []
        for i in reversed(self.ins):
            aval = self.avals[i]
            if not held[i] and room.get(aval, 0) and aval.numel:
                room[aval] -= 1
                donated.append(i)
        return donated

    def _plan_numbers(self) -> None:
        """Where each Python number goes: floats and complex parts in one float64 array, ints and bools in one of int64."""
        self.where: dict[int, tuple[str, int]] = {}
        self.floats: list[tuple[int, str]] = []
        self.ints: list[int] = []
        for s in self.path:
            for i, mark in zip(s.args, _markers(s.call.template), strict=True):
                if i < 0:
                    self._plan_number(-i - 1, mark.number_type)
        self.last_numbers: list | None = None
        self.stays = False
        self.packed: list = []

    def _plan_number(self, k: int, kind: type | None) -> None:
        if kind is complex:
            self.where[k] = ("complex", len(self.floats))
            self.floats += [(k, "real"), (k, "imag")]
        elif kind is float:
            self.where[k] = ("float", len(self.floats))
            self.floats.append((k, "real"))
        else:
            self.where[k] = ("bool" if kind is bool else "int", len(self.ints))
            self.ints.append(k)

    def _number(self, k: int, floats, ints):
        kind, at = self.where[k]
        if kind == "complex":
            return jax.lax.complex(floats[at], floats[at + 1])
        if kind == "float":
            return floats[at]
        return ints[at].astype(bool) if kind == "bool" else ints[at]

    def _trace(self, *arrays):
        floats, ints = arrays[:2]
        env = dict(zip(self.order, arrays[2:], strict=True))
        flags = []
        for s in self.path:
            args = [env[i] if i >= 0 else self._number(-i - 1, floats, ints) for i in s.args]
            if s.call.check is not None:
                bad, detail = s.call.check(*args)
                flags += [jnp.asarray(bad, np.int64), jnp.asarray(detail, np.int64)]
            for k, x in enumerate(flatten(s.call.fn(*args))):
                env[s.first + k] = x
        return *[env[i] for i in self.outs], *([jnp.stack(flags)] if flags else [])

    def _compile(self):
        self.device = device = next((s.outs[0].device for s in reversed(self.path) if s.outs), CPU)
        self.order = self.donated + [i for i in self.ins if i not in self.donated]
        avals = [aval_of((len(x),), np.dtype(t), device) for x, t in ((self.floats, "f8"), (self.ints, "i8"))]
        avals += [self.avals[i] for i in self.order]
        self.foreign = [k for k, i in enumerate(self.order) if self.avals[i].device is not device]      # 0-dim, of the CPU
        placed = [(a if a.device is device else aval_of(a.shape, a.np, device)).placed for a in avals]
        donated = tuple(range(2, 2 + len(self.donated)))
        with jax.enable_x64(True):
            return cache.compiled(jax.jit(self._trace, donate_argnums=donated, keep_unused=True).lower(*placed))

    def _pack(self, numbers: list) -> None:
        """The numbers as arrays: the host's for numbers that have just changed, the device's if they stay the same."""
        self.stays = numbers == self.last_numbers
        if not self.stays:
            floats = np.array([getattr(numbers[k], part) for k, part in self.floats], np.float64)
            self.packed = [floats, np.array([numbers[k] for k in self.ints], np.int64)]
            self.last_numbers = list(numbers)
        else:
            self.packed = [put(x, self.device) for x in self.packed]

    def run(self, values: list[Value], numbers: list) -> None:
        """Computes the record's held values."""
        self.runs += 1
        stats.counters.program_runs += 1
        self.last_run = stats.counters.program_runs
        if numbers != self.last_numbers or not self.stays:
            self._pack(numbers)
        arrays = [values[i].array for i in self.order]
        if np.ndarray in set(map(type, arrays)):
            arrays = [device_array(values[i]) for i in self.order]
        for k in self.foreign:
            arrays[k] = put(np.asarray(arrays[k]), self.device)
        given = arrays[:len(self.donated)]
        if given and max(map(getrefcount, given)) > _UNSHARED_IN_LISTS:
            arrays = self._unshared(values, arrays)
        del given
        if self.stays:
            outs = self.compiled(*self.packed, *arrays)
        else:
            with jax.enable_x64(True):
                outs = self.compiled(*self.packed, *arrays)
        for i, array in zip(self.outs, outs):       # noqa: B905  (the flags, if any, come last)
            values[i].array = array
        if outs and self.device is CPU:
            self.quick = wait(outs[0], self.quick)      # as in PyTorch, the work is done when the call returns
        if self.checks:
            self._raise_if_bad(np.asarray(outs[-1]))

    def _unshared(self, values: list[Value], arrays: list) -> list:
        """The arrays, copied where one to be given away is held by somebody else too (through ``Tensor.jax()``, say)."""
        n = len(self.donated)
        return [a.copy() if k < n and getrefcount(a) > _UNSHARED_IN_LISTS else a for k, a in enumerate(arrays)]

    def _raise_if_bad(self, flags: np.ndarray) -> None:
        for k, s in enumerate(self.checks):
            if flags[2 * k]:
                error = value_error(s.call, s.kernel.avals, int(flags[2 * k + 1]))
                name_line(error, s)
                raise error


def name_line(error: Exception, state: State) -> None:
    """Adds to an error that is raised late which call it comes from."""
    error.add_note(f"raised by {state.call.op.name} called at {state.line}")


def _markers(template: tuple) -> list[Marker]:
    out: list[Marker] = []
    for t in template:
        if t.__class__ is Marker:
            out.append(t)
        elif t.__class__ is tuple:
            out += _markers(t)
    return out
