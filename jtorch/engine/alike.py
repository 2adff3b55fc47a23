"""Traces of an accelerator that repeat themselves: programs of their pieces, from the first time on.

Kernel by kernel, each call costs an accelerator up to a second of compiling and 50 µs to start. Where sequences grow, as in
generation, shapes are others in each turn, and no trace comes back often enough to become one program. But the layers of a net
are alike in each: a piece of some calls is compiled once, and started as often as there are layers.
"""
from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from jtorch.engine import policy, repeats, stats
from jtorch.engine.plan import Plan, segments
from jtorch.engine.program import results
from jtorch.engine.side_by_side import compile_programs
from jtorch.engine.threads import Threads

if TYPE_CHECKING:
    from jtorch.engine.kernel import Kernel
    from jtorch.engine.program import Program
    from jtorch.engine.trie import State, Trie


def chain_of(trie: Trie, state: State, held: bytes) -> Alike | None:
    """The programs of a trace that ends at ``state``; None where it repeats itself too little."""
    chains = state.ends_here().chains
    if held not in chains:
        path = state.path()
        cut = stretches(path)
        chains[held] = Alike(trie, cut, results(path, held), held) if len(cut) > 1 else None
        for kernel in {s.kernel for s in path}:
            kernel.met += 1
    return chains[held]


def stretches(path: list[State]) -> list[list[State]]:
    """The trace cut where it repeats itself, and, if it does, between calls that have been met in an earlier one and new ones.

    With a cache of keys and values, which grows, a layer's attention is new for each token, and what stands around it is not.
    """
    kernels = [s.kernel for s in path]
    ends = repeats.cuts(kernels, [policy.CALL_COMPILES_THERE] * len(path), policy.LONGEST_ALIKE)
    return [part for a, b in pairwise([0, *ends, len(path)]) for part in _apart(path[a:b])] if ends else [path]


def _apart(path: list[State]) -> list[list[State]]:
    """New calls, and those that have been met where there are some in a row."""
    groups = [(met, list(some)) for met, some in groupby(path, lambda s: s.kernel.met > 0)]
    out: list[tuple[bool, list[State]]] = []
    for met, some in groups:
        stays = met and (len(some) >= policy.FEW_MET or len(groups) == 1)
        if out and out[-1][0] == stays:
            out[-1][1].extend(some)
        else:
            out.append((stays, some))
    return [some for _, some in out]


class Alike(Plan):
    """The programs of such a trace. What is long and comes once runs call by call."""

    def __init__(self, trie: Trie, cut: list[list[State]], outs: list[int], held: bytes):
        super().__init__(list(segments(cut, outs, held, "its calls repeat", Threads())), trie.budget)
        self._counts: Counter[tuple[Kernel, ...]] = trie.pieces
        self._held = held
        self._compile()
        self.is_whole = True
        stats.counters.alike += 1

    def _compile(self) -> None:
        """Compile side by side what is new and short or comes again in it, and what has come often."""
        times = Counter([s.kind for s in self.segments])
        self._counts.update(times)
        wanted = [s.program for s in self.segments if self._is_worth_it(s.kind, times[s.kind])]
        self._plan_reads(wanted)
        compile_programs(wanted)

    def _plan_reads(self, programs: list[Program]) -> None:
        """Numbers go to the host unasked if they are few in all, and not for the next piece alone."""
        for p in programs:
            p.soon_read = [k for k in p.soon_read if self._held[p.outs[k]]]
        if sum([len(p.soon_read) for p in programs]) > policy.FEW_NUMBERS:
            for p in programs:
                p.soon_read = []

    def _is_worth_it(self, kind: tuple[Kernel, ...], times: int) -> bool:
        """Whether a piece is to be a program. Kernels that are there, or are met again and again, serve other traces, too."""
        if all([kernel.compiled is not None or kernel.met >= policy.OFTEN_MET for kernel in kind]):
            return len(kind) > 1 and self._counts[kind] >= policy.OFTEN
        return times > 1 or len(kind) <= policy.SHORT
