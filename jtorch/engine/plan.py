"""Plans: how a trace of held-back calls runs, as a list of segments.

A segment is consecutive calls. It runs as one program once that is compiled, and call by call until then. Most traces have one
segment. A trace has several if it is large (``pieces``), or if its first program may start early (``early_start``).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from itertools import accumulate
from typing import TYPE_CHECKING

import jtorch.device as devices
from jtorch._base.config import ENGINE_MODE
from jtorch.engine import interpreter, malloc, pieces, policy, wait
from jtorch.engine.cost import Work
from jtorch.engine.early_start import Early, longest_stretch
from jtorch.engine.program import Program, made_by, results
from jtorch.engine.residuals import pass_residuals
from jtorch.engine.threads import Threads, pool_for
from jtorch.engine.values import CPU, Aval, Value

if TYPE_CHECKING:
    from jtorch.engine.policy import Budget
    from jtorch.engine.trace import Trace
    from jtorch.engine.trie import State


class Segment:
    """Consecutive calls of a trace, and their program, which may not be compiled yet.

    ``kept``: the slots that later segments or the trace's results need. ``held``: for each slot, 1 if a tensor holds its value.
    """

    __slots__ = ("_let_go", "_spare", "_wanted", "early", "kind", "program")

    def __init__(self, program: Program, kept: Set[int], held: bytes, early: Early | None = None):
        self.program, self.early = program, early
        self.kind = tuple([s.kernel for s in program.path])
        self._wanted = _with(held, kept)
        self._spare: dict[State, list[int]] | None = None
        self._let_go = [i for i in dict.fromkeys([i for s in program.path for i in s.args]) if i >= 0 and not self._wanted[i]]

    def launch(self, trace: Trace, budget: Budget, *, is_last: bool) -> list:
        """Start the program, or run the calls one by one. Return a list with the program's array of value checks, if any."""
        if self.early is not None and self.program.is_compiled:
            given = self.early.results(trace)
            self.program.assign(trace.values, given)
        elif self.program.is_compiled:
            wait.for_latest()
            given = self.program.launch(trace)
        else:
            if self._spare is None:
                self._spare = interpreter.spare_behind(self.program.path, self._wanted)
            interpreter.run(self.program.path, trace.values, trace.numbers, budget, self._spare)
            given = []
        if not is_last:
            for i in self._let_go:
                trace.values[i].array = None
        # The other outputs are not returned: a second reference would make the next segment copy them instead of donating.
        return given[-1:] if self.program.checks else []

    @property
    def gives(self) -> int:
        """The bytes of the segment's outputs."""
        return sum([self.program.avals[i].nbytes for i in self.program.outs])

    def raise_if_bad(self, flags: list) -> None:
        """Raise the error of wrong argument values, if the program has found any."""
        if flags:
            self.program.raise_if_bad(flags)


class Plan:
    """The segments of a trace. ``more`` has the avals of extra slots, for residuals that one segment computes for another."""

    def __init__(self, segments: list[Segment], budget: Budget, more: Sequence[Aval] = ()):
        self.segments, self._budget, self._more = segments, budget, more
        self.last_run, self.is_long = 0, False      # is_long: a run takes so long that trimming memory costs little beside it.
        self.is_whole = False                       # True once all programs are compiled.
        self._only: Program | None = None           # The program of the whole trace, once it is compiled.

    @property
    def programs(self) -> list[Program]:
        """The programs of the segments, compiled or not."""
        return [s.program for s in self.segments]

    def arm(self) -> None:
        """Mark the plan as compiled, and let its first program start early from now on if it may."""
        self.is_whole = True
        for s in self.segments:
            if s.early is not None:
                s.early = s.early.arm()
                s.program = s.early.program
        if len(self.segments) == 1 and self.segments[0].early is None:
            self._only = self.segments[0].program

    def run(self, trace: Trace) -> None:
        """Compute the held values of the trace."""
        if self._only is not None:
            wait.for_latest()
            given = self._only.launch(trace)
            trace.finish()      # The program runs meanwhile.
            self._only.raise_if_bad(given)
            return
        trace.values += [Value(aval) for aval in self._more]
        last = self.segments[-1]
        flags = [segment.launch(trace, self._budget, is_last=segment is last) for segment in self.segments]
        trace.finish()      # The programs run meanwhile.
        for segment, found in zip(self.segments, flags, strict=True):
            segment.raise_if_bad(found)

    def drop(self) -> None:
        """Let no program of the plan start early any more."""
        for s in self.segments:
            if s.early is not None:
                s.early.disarm()


def plan(trace: Trace, held: bytes, why: str, read: bool, budget: Budget) -> Plan:
    """Return the plan of a trace. Its programs are not compiled yet.

    ``read`` says whether a read has ended the trace.
    """
    path, work = trace.state.path(), trace.state.ends_here().work(trace.state)
    parts, more = _segments(trace, path, results(path, held), held, why, read, work)
    made = Plan(parts, budget, more)
    made.is_long = work.compiled > policy.LONG and not devices.is_accelerator(trace.state.device)
    if len(parts) > 1 and parts[0].early is None and parts[0].program.runs_inline:
        malloc.keep(made, sum([s.gives for s in parts]))
    return made


def _segments(trace: Trace, path: list[State], outs: list[int], held: bytes, why: str, read: bool,
              work: Work) -> tuple[list[Segment], Sequence[Aval]]:
    on = Threads(pool=pool_for(work.host), beside=work.compiled < policy.LONG)
    waited_for = on._replace(inline=True, beside=False)
    accelerated = devices.is_accelerator(trace.state.device)
    takes_much = not accelerated and _bytes(made_by(path) - set(outs), trace) > policy.MUCH_MEMORY
    cut, starts_early = pieces.of_trace(path, outs, accelerated), False
    more: list[Aval] = []
    if len(cut) > 1:
        cut, more = pass_residuals(cut, len(held)) if trace.state.device is CPU else (cut, [])
    elif not takes_much and not devices.spans_processes(trace.state.device):   # Ranks agree on a whole trace before its start.
        stretch = longest_stretch(path, trace)
        first, rest = path[:stretch.stop + 1], path[stretch.stop + 1:]
        starts_early = len(stretch) >= policy.FEW and _pays_early(first, rest, outs, trace, work)
        cut = [part for part in (first, rest) if part] if starts_early else cut
    is_awaited = takes_much or (len(cut) == 1 and not starts_early
                                and (read or (work.host < policy.INLINE and ENGINE_MODE != "hot")))
    made = list(segments(cut, outs, held + bytes(len(more)), why, waited_for if is_awaited else on, early=starts_early))
    if starts_early:
        made[0].early = Early(path[stretch.start], made[0].program, stretch)
    return made, more


def _pays_early(first: list[State], rest: list[State], outs: list[int], trace: Trace, work: Work) -> bool:
    """Return whether the first calls of a trace are worth a program of their own, which starts before the trace has ended."""
    crossing = made_by(first) & {i for s in rest for i in s.read} - set(outs)
    overlaps = ENGINE_MODE == "hot" or work.compiled > policy.QUICK
    return overlaps and _bytes(crossing, trace) <= policy.MAX_CROSSING + policy.PER_SECOND * work.host


def segments(cut: list[list[State]], outs: list[int], held: bytes, why: str, on: Threads, *,
             early: bool = False) -> Iterator[Segment]:
    """Yield the segments of a trace from the parts ``cut``. The slots ``outs`` are the trace's results.

    If the first segment starts ``early``, it donates nothing.
    """
    for number, (path, kept) in enumerate(zip(cut, _kept_after(cut, outs), strict=True)):
        wanted = bytes([1]) * len(held) if early and number == 0 else _with(held, kept)
        program = Program(path, sorted(made_by(path) & kept, reverse=True), _spare(wanted), why, on)
        yield Segment(program, kept, held)


def _with(held: bytes, kept: Set[int]) -> bytes:
    wanted = bytearray(held)
    for i in kept:
        wanted[i] = 1
    return bytes(wanted)


def _spare(wanted: bytes) -> Callable[[int], bool]:
    """Return a function that says if a program may overwrite a slot: only the trace holds it, and no later segment reads it."""
    return lambda i: not wanted[i]


def _bytes(slots: set[int], trace: Trace) -> int:
    return sum(trace.values[i].aval.nbytes for i in slots)


def _kept_after(cut: list[list[State]], outs: list[int]) -> list[frozenset[int]]:
    """Return for each part of a trace the slots that are needed after it: ``outs``, and what later parts read."""
    read = [frozenset(i for s in part for i in s.read) for part in reversed(cut[1:])]
    return [*accumulate(read, frozenset.union, initial=frozenset(outs))][::-1]
