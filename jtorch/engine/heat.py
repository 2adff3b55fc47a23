"""Heat: which records are compiled, when, and for how long their programs are kept."""
from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING

from jtorch.engine import split, stats, wait
from jtorch.engine.program import unconsumed
from jtorch.engine.values import CPU
from jtorch.flags import ENGINE_MODE

if TYPE_CHECKING:
    from jtorch.engine.record import Record, State

MAX_PROGRAMS = 512
MAX_CUT = 1000              # calls in a record that was cut off: XLA takes minutes for one with thousands of outputs
TRIALS, MARGIN = 16, 1.2    # runs of a program that are timed, and by how much it may be slower than its record was call by call
SAVED_PER_CALL = 10e-6      # seconds of Python that a call held back takes less than one run at once
_compiled: dict[split.Compiled, tuple[State, bytes]] = {}      # all programs, with where they hang in the trie


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

    def set_aside(self, state: State) -> None:
        """Takes what compiling a record is expected to cost out of what is left, since it is compiled later."""
        state.set_aside = self.expected(state.depth)
        self.spent += state.set_aside

    def put_back(self, state: State) -> None:
        """Takes ``set_aside`` back."""
        self.spent -= state.set_aside
        state.set_aside = 0.0

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
    if state.why is None:
        state.why = f"ran {state.count} times call by call, {state.cost * 1e3:.1f} ms in all"
        budget.set_aside(state)
    while state.parent is not None and not state.hot:
        state.hot = True
        state = state.parent


def wanted(rec: Record, held: bytes, natural: bool, read: bool) -> split.Compiled | None:
    """The program to compile for a record whose calls were held back, or None if it has not come up often enough."""
    state = rec.state
    if state.device.type == "meta" or state.refused:
        return None
    if not natural and (ENGINE_MODE != "hot" or state.depth > MAX_CUT):
        return None
    if ENGINE_MODE == "hot":
        return _compile(rec, held, "JTORCH_ENGINE=hot", read)
    state.seen[held] = times = state.seen.get(held, 0) + 1
    if state.why is None:                 # others go on from here, but this end has not been compiled yet
        if times >= 16 and budget.allows(state.depth) and not is_timing_loop(state):
            return _compile(rec, held, f"ended here {times} times on the way to a program", read)
        return None
    if len(state.programs) > 0 and times < 4:
        return None
    return _compile(rec, held, state.why, read)


def _compile(rec: Record, held: bytes, why: str, read: bool) -> split.Compiled:
    state = rec.state
    start = time.perf_counter()
    made = split.compiled(rec, held, why, read)
    budget.put_back(state)
    budget.note(state.depth, time.perf_counter() - start)
    state.programs[held] = made
    made.trials = TRIALS if state.best < inf and state.device is CPU else 0
    _compiled[made] = (state, held)
    if len(_compiled) > MAX_PROGRAMS:
        oldest = min(_compiled, key=lambda p: p.last_run)
        _drop(oldest, *_compiled[oldest])
    return made


def _drop(program: split.Compiled, state: State, held: bytes) -> None:
    _compiled.pop(program, None)
    state.programs.pop(held, None)
    program.drop()
    _cool(state)


def on_trial(program: split.Compiled, rec: Record) -> None:
    """Runs a program and times it. One that is slower than its record was call by call is given up."""
    state = rec.state
    start = time.perf_counter()
    program.run(rec)
    wait.for_latest()
    program.best = min(program.best, time.perf_counter() - start)
    program.trials -= 1
    if not program.trials and program.best > MARGIN * (state.best + state.depth * SAVED_PER_CALL):
        _refuse(state)


def _refuse(state: State) -> None:
    """Drops the programs of a record, which runs call by call from now on."""
    state.refused = True
    for held, program in list(state.programs.items()):
        stats.given_up(program, f"given up: {program.best * 1e3:.2f} ms, call by call {state.best * 1e3:.2f}")
        _drop(program, state, held)


def _cool(state: State) -> None:
    """Takes back ``heat`` where no program is left on the way."""
    while state.parent is not None and not state.programs \
            and not any(s.hot for s in state.next.values()):
        state.hot, state.count, state.cost = ENGINE_MODE == "hot", 0, 0.0
        state.why = None
        budget.put_back(state)
        state.seen.clear()
        state = state.parent


def forget() -> None:
    """Drops all programs, with the trie they hang in."""
    _compiled.clear()


def is_timing_loop(state: State) -> bool:
    """Whether the record computes the same thing over and over and drops it. Compiled, it would compute it once."""
    path = state.path()
    calls = [(s.call, s.args) for s in path]
    if len(set(calls)) == len(calls):
        return False
    dropped = set(unconsumed(path))
    repeated = [s for s in path if s.first in dropped and calls.count((s.call, s.args)) > 1]
    return len(repeated) > 1
