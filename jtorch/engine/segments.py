"""Splits: a trace compiled as two programs, so that the first runs while the rest of the trace is still being recorded.

A training step meets its last new input, the target, before ``backward``; what follows up to the optimizer's states needs
nothing new. So forward and backward can start when the target is met. That the trace will go on as it did is a guess: what
has started early writes over nothing, and if the guess was wrong its results are dropped.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, Any

import jtorch.device as devices
from jtorch._base.config import ENGINE_MODE
from jtorch.engine import one_by_one, pieces, policy, stats, temporaries, wait
from jtorch.engine.cost import Work
from jtorch.engine.handed_on import handed_on
from jtorch.engine.program import Program, made_by, results
from jtorch.engine.threads import Threads, pool_for
from jtorch.engine.values import CPU, Aval, Value, is_ones

if TYPE_CHECKING:
    from jtorch.engine.kernel import Kernel
    from jtorch.engine.trace import Trace
    from jtorch.engine.trie import State


def compiled(trace: Trace, held: bytes, why: str, read: bool, runs: dict[Kernel, int]) -> Compiled:
    """The program of a trace, or two if the first can start early, or the first of many. ``read``: whether a read ends the trace.

    ``runs``: how often the thread has run kernels on the host.
    """
    path = trace.state.path()
    work = trace.state.ends_here().work(trace.state)
    made = _compiled(trace, path, results(path, held), held, why, read, work, runs)
    made.is_long = work.compiled > policy.LONG and not devices.is_accelerator(trace.state.device)
    return made


def _compiled(trace: Trace, path: list[State], outs: list[int], held: bytes, why: str, read: bool, work: Work,
              runs: dict[Kernel, int]) -> Compiled:
    on = Threads(pool=pool_for(work.host), beside=work.compiled < policy.LONG)
    waited_for = on._replace(inline=True, beside=False)
    accelerated = devices.is_accelerator(trace.state.device)
    takes_much = not accelerated and _bytes(made_by(path) - set(outs), trace) > policy.MUCH_MEMORY
    cut = pieces.of_trace(path, outs, work, accelerated)
    if len(cut) > 1:
        cut, more = handed_on(cut, len(held)) if trace.state.device is CPU else (cut, [])
        return Chain(cut, outs, held + bytes(len(more)), why, waited_for if takes_much else on, runs, more)
    if takes_much:
        return Program(path, outs, _spare(held), why, waited_for)
    stretch = max(_stretches(path, trace), key=len)
    first, rest = path[:stretch.stop + 1], path[stretch.stop + 1:]
    made = made_by(first)
    crossing = made & {i for s in rest for i in s.read} - set(outs)
    overlaps = ENGINE_MODE == "hot" or work.compiled > policy.OVERLAPPED
    crosses = policy.MAX_CROSSING + policy.PER_SECOND * work.host
    if len(stretch) < policy.MIN_AHEAD or not overlaps or _bytes(crossing, trace) > crosses:
        is_awaited = read or (work.host < policy.INLINE and ENGINE_MODE != "hot")
        return Program(path, outs, _spare(held), why, waited_for if is_awaited else on)
    early = Early.of(path[stretch.start], first, sorted(made & set(outs) | crossing, reverse=True), stretch, why, on)
    if not rest:
        return Split(early, None)
    return Split(early, Program(rest, [i for i in outs if i not in made], _spare(held, made), why, on))


def _spare(held: bytes | bytearray, kept: Set[int] = frozenset()) -> Callable[[int], bool]:
    """Which slots a program may overwrite: those that nobody holds but the trace, and that are not ``kept``."""
    return lambda i: not held[i] and i not in kept


def _bytes(slots: set[int], trace: Trace) -> int:
    return sum(trace.values[i].aval.nbytes for i in slots)


class _Stretch:
    """Calls behind ``path[start]`` up to ``path[stop]`` that need only what the trace has met by then, or what is foreseen.

    Foreseen are the ones that backward starts from (``constants``, by slot), and numbers that came before, as an exponent comes
    again in backward (``copies``: of which number each is a copy).
    """

    def __init__(self, start: int):
        self.start = self.stop = start
        self.constants: dict[int, Value] = {}
        self.copies: list[int] = []

    def __len__(self) -> int:
        return self.stop - self.start


def _stretches(path: list[State], trace: Trace) -> list[_Stretch]:
    seen: dict[tuple, int] = {}     # numbers, and where each came first
    out: list[_Stretch] = [_Stretch(0)]
    before = known = 0      # slots and numbers that the trace has met
    for at, s in enumerate(path):
        new = {i: trace.values[i] for i in range(before, s.first)}
        numbers = [(type(x), repr(x)) for x in trace.numbers[known:s.nnumbers]]
        if at and all(map(is_ones, new.values())) and all(x in seen for x in numbers):
            out[-1].stop = at
            out[-1].constants |= new
            out[-1].copies += [seen[x] for x in numbers]
        elif at:
            out.append(_Stretch(at))
        for k, x in enumerate(numbers, known):
            seen.setdefault(x, k)
        before, known = s.first + len(s.outs), s.nnumbers
    return out


class Early:
    """A program that starts where a trace comes to ``state``. ``trust``: above 0 if it has been what was wanted of late."""

    def __init__(self, state: State, program: Program, stretch: _Stretch):
        self.state, self.program, self.trust = state, program, 2
        self.constants, self.copies = stretch.constants, stretch.copies
        self.known = [i for i in program.order if i not in self.constants]
        self.foreseen = [self.constants[i] for i in program.order if i in self.constants]   # they come last in the order

    @classmethod
    def of(cls, state: State, path: list[State], outs: list[int], stretch: _Stretch, why: str, on: Threads) -> Early:
        """The one of ``state``, which is compiled unless the one that is there does the same."""
        have = state.early
        if have is None or have.program.path[-1] is not path[-1] or have.program.outs != outs:
            have = state.early = cls(state, Program(path, outs, lambda i: False, why, on), stretch)
        return have

    def begin(self, trace: Trace, values: list[Value], numbers: list) -> None:
        """Starts the program, unless it has been started in vain too often."""
        if self.trust > 0 and len(values) >= self.state.first + len(self.state.outs):
            self.trust -= 1
            wait.for_latest()
            results: list[list] = []
            given = [values[i] for i in self.known] + self.foreseen
            self.program.start(given, numbers + [numbers[k] for k in self.copies], results)
            trace.begun = self, results[0]
            stats.counters.early_starts += 1

    def results(self, trace: Trace) -> list:
        """The program's results at the trace's end: those of the early start, if all that was foreseen has come."""
        values, numbers, end = trace.values, trace.numbers, self.program.path[-1].nnumbers
        begun, trace.begun = trace.begun, None
        foreseen = end - len(self.copies)
        if all([values[i] is v for i, v in self.constants.items()]) \
                and all([repr(numbers[foreseen + n]) == repr(numbers[k]) for n, k in enumerate(self.copies)]):
            self.trust = min(self.trust + 2, policy.MAX_TRUST)
            if begun is not None and begun[0] is self:
                stats.counters.early_starts_used += 1
                return begun[1]
        wait.for_latest()
        results: list[list] = []
        self.program.start([values[i] for i in self.program.order], numbers[:end], results)
        return results[0]


class Split:
    """A trace's two programs (or one, if all of it can start early)."""

    def __init__(self, early: Early, rest: Program | None):
        self.early, self.rest, self.last_run, self.is_long = early, rest, 0, False

    @property
    def parts(self) -> list[Program]:
        """What has been compiled for it."""
        return [self.early.program, *([self.rest] if self.rest is not None else [])]

    def run(self, trace: Trace) -> None:
        """Computes the held values of the trace."""
        first, rest = self.early.program, self.rest
        outs = self.early.results(trace)
        first.assign(trace.values, outs)
        more = rest.launch(trace) if rest is not None else []
        trace.finish()      # while they run
        first.raise_if_bad(outs)
        if rest is not None:
            rest.raise_if_bad(more)

    def drop(self) -> None:
        """Takes the early start back."""
        if self.early.state.early is self.early:
            self.early.state.early = None


class Piece:
    """Some calls of a large trace, that are one program once it has been compiled."""

    def __init__(self, path: list[State], kept: frozenset[int], held: bytes, why: str, on: Threads):
        """``kept``: the slots that are wanted behind it."""
        self.path, self.kind = path, tuple([s.kernel for s in path])
        self.program: Program | None = None
        wanted = bytearray(held)        # by slot, as ``held``
        for i in kept:
            wanted[i] = 1
        self._wanted, spare = bytes(wanted), _spare(wanted)
        self._arguments: Any = sorted(made_by(path) & kept, reverse=True), spare, why, on
        self.gives = sum([a.nbytes for s in path for i, a in enumerate(s.outs, s.first) if i in kept])     # bytes
        self._let_go = [i for i in dict.fromkeys([i for s in path for i in s.args]) if i >= 0 and spare(i)]

    @property
    def seconds(self) -> float:
        """About what it takes to compile."""
        return sum([policy.call_compile_seconds(s.kernel.work) for s in self.path])

    def compile(self) -> None:
        """Makes its program."""
        self.program = Program(self.path, *self._arguments)
        self._arguments = None

    def planned(self) -> Program:
        """What may become its program, once somebody else has compiled it."""
        return Program(self.path, *self._arguments, compiles=False)

    def run(self, trace: Trace, runs: dict[Kernel, int]) -> list:
        """Computes what it gives, and lets go of what nobody wants behind it. Gives what is to be looked at for wrong values."""
        given: list = []
        if self.program is not None:
            wait.for_latest()
            given = self.program.launch(trace)
        else:
            one_by_one.run(self.path, trace.values, trace.numbers, runs, self._wanted)
        for i in self._let_go:
            trace.values[i].array = None
        return given[-1:] if self.program is not None and self.program.checks else []       # arrays that are shared are copied

    def raise_if_bad(self, flags: list) -> None:
        """Raises the error that wrong values call for, where a program has noted some."""
        if self.program is not None:
            self.program.raise_if_bad(flags)


def _kept_behind(stretches: list[list[State]], outs: list[int]) -> list[frozenset[int]]:
    """Of each stretch of a trace the slots that are wanted behind it: ``outs``, and what later calls read."""
    kept = [frozenset(outs)]
    for stretch in reversed(stretches[1:]):
        kept.append(kept[-1].union(*[s.read for s in stretch]))
    return kept[::-1]


class Chain:
    """The programs of a large trace, one after the other: cut where it repeats itself, and where pieces would be too large.

    Each end of such a trace compiles some of them, so that none waits for all. Those that have no program yet run call by call.
    """

    def __init__(self, stretches: list[list[State]], outs: list[int], held: bytes, why: str, on: Threads,
                 runs: dict[Kernel, int], more: Sequence[Aval] = ()):
        """``more``: of slots behind the trace's own."""
        self._more = more
        self.last_run, self.is_long, self.is_whole, self._runs = 0, False, False, runs
        self._pieces = [Piece(piece, kept, held, why, on)
                        for piece, kept in zip(stretches, _kept_behind(stretches, outs), strict=True)]
        if on.inline:
            temporaries.keep(self, sum([p.gives for p in self._pieces]))
        self.compile_some()

    @property
    def parts(self) -> list[Program]:
        """What has been compiled for it."""
        return [p.program for p in self._pieces if p.program is not None]

    def compile_some(self) -> int:
        """Compiles the next piece, those like it, and further ones as long as all takes no longer than one end of a trace may.

        Gives how many that are.
        """
        spent, there = 0.0, {p.kind for p in self._pieces if p.program is not None}
        left = [p for p in self._pieces if p.program is None]
        for n, piece in enumerate(left):
            if piece.kind not in there:
                if spent and spent + piece.seconds > policy.AT_ONCE and ENGINE_MODE != "hot":
                    return n
                spent += piece.seconds
            piece.compile()
            there.add(piece.kind)
        self.is_whole = True
        return len(left)

    def run(self, trace: Trace) -> None:
        """Computes the held values of the trace."""
        trace.values += [Value(aval) for aval in self._more]
        flags = [piece.run(trace, self._runs) for piece in self._pieces]
        for piece, found in zip(self._pieces, flags, strict=True):
            piece.raise_if_bad(found)

    def drop(self) -> None:
        """Nothing to take back when the programs are dropped."""


Compiled = Program | Split | Chain      # what a trace has been compiled to
