"""Start the first program of a trace while the rest of the trace is still being recorded.

A training step reads its last new input, the target, before ``backward``. The calls from there up to the optimizer's step need
no new input. So forward and backward can start as soon as the target is known. An early start is a guess: the trace is expected
to go on as in its last run. So a program that starts early donates nothing, and its results are dropped if the guess was wrong.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from jtorch.engine import policy, stats, wait
from jtorch.engine.values import Value, is_ones

if TYPE_CHECKING:
    from jtorch.engine.program import Program
    from jtorch.engine.trace import Trace
    from jtorch.engine.trie import State


class Stretch:
    """The calls after ``path[start]`` up to ``path[stop]``. They need no new input after ``path[start]``, except foreseen ones.

    ``constants`` has the foreseen values by slot. They are arrays of ones, from which backward starts. ``copies`` has the
    foreseen numbers, for example an exponent that backward reads again. Each is the index of an earlier equal number.
    """

    def __init__(self, start: int):
        self.start = self.stop = start
        self.constants: dict[int, Value] = {}
        self.copies: list[int] = []

    def __len__(self) -> int:
        return self.stop - self.start


def longest_stretch(path: list[State], trace: Trace) -> Stretch:
    """Return the longest stretch of a trace's calls that could start early."""
    seen: dict[tuple, int] = {}     # The first index of each number.
    found: list[Stretch] = [Stretch(0)]
    before = known = 0      # Counts of the slots and numbers before the current call.
    for at, s in enumerate(path):
        new = {i: trace.values[i] for i in range(before, s.first)}
        numbers = [(type(x), repr(x)) for x in trace.numbers[known:s.nnumbers]]
        if at and all(map(is_ones, new.values())) and all(x in seen for x in numbers):
            found[-1].stop = at
            found[-1].constants |= new
            found[-1].copies += [seen[x] for x in numbers]
        elif at:
            found.append(Stretch(at))
        for k, x in enumerate(numbers, known):
            seen.setdefault(x, k)
        before, known = s.first + len(s.outs), s.nnumbers
    return max(found, key=len)


class Early:
    """A program that starts when a trace reaches ``state``.

    Each start lowers ``trust``. Each end of the trace at which the guess is right raises it. At 0 the program does not start
    early.
    """

    def __init__(self, state: State, program: Program, stretch: Stretch):
        self.state, self.program, self.trust = state, program, 2
        self.constants, self.copies = stretch.constants, stretch.copies
        self.known = [i for i in program.order if i not in self.constants]
        self.foreseen = [self.constants[i] for i in program.order if i in self.constants]   # Last in ``program.order``.

    def arm(self) -> Early:
        """Let the program start early from now on. If the state has an equal early start already, return that instead."""
        have = self.state.early
        if have is not None and have.program.path[-1] is self.program.path[-1] and have.program.outs == self.program.outs:
            return have
        self.state.early = self
        return self

    def disarm(self) -> None:
        """Let the program no longer start early."""
        if self.state.early is self:
            self.state.early = None

    def begin(self, trace: Trace, values: list[Value], numbers: list) -> None:
        """Start the program, unless too many earlier guesses were wrong."""
        if self.trust > 0 and len(values) >= self.state.first + len(self.state.outs):
            self.trust -= 1
            wait.for_latest()
            results: list[list] = []
            given = [values[i] for i in self.known] + self.foreseen
            self.program.start(given, numbers + [numbers[k] for k in self.copies], results)
            trace.begun = self, results[0]
            stats.counters.early_starts += 1

    def results(self, trace: Trace) -> list:
        """Return the program's results at the trace's end. Those of the early start are used if the guess was right."""
        values, numbers, end = trace.values, trace.numbers, self.program.path[-1].nnumbers
        begun, trace.begun = trace.begun, None
        foreseen = end - len(self.copies)
        if all([values[i] is v for i, v in self.constants.items()]) \
                and all([repr(numbers[foreseen + n]) == repr(numbers[k]) for n, k in enumerate(self.copies)]):
            self.trust = min(self.trust + 2, policy.FEW)
            if begun is not None and begun[0] is self:
                stats.counters.early_starts_used += 1
                return begun[1]
        wait.for_latest()
        results: list[list] = []
        self.program.start([values[i] for i in self.program.order], numbers[:end], results)
        return results[0]
