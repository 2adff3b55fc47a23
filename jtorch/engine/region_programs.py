"""Traces of an accelerator that repeat themselves. They run as programs of their pieces from the first time on.

On an accelerator each kernel takes long to compile and some time to start. If sequences grow, as in generation, the shapes
change in each turn, and no trace comes back often enough to become one program. But the layers of a net are equal within each
trace. So a piece of some calls is compiled once, and starts once for each layer.
"""
from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from jtorch.engine import cost, policy, repeated_regions, stats
from jtorch.engine.parallel_compilation import compile_programs
from jtorch.engine.plan import Plan, segments
from jtorch.engine.program import results
from jtorch.engine.threads import Threads

if TYPE_CHECKING:
    from jtorch.engine.kernel import Kernel
    from jtorch.engine.program import Program
    from jtorch.engine.trie import State, Trie


def chain_of(trie: Trie, state: State, held: bytes) -> RegionPrograms | None:
    """Return the programs of a trace that ends at ``state``; None if the trace does not repeat itself enough."""
    chains = state.ends_here().chains
    if held not in chains:
        path = state.path()
        cut = stretches(path)
        chains[held] = RegionPrograms(trie, cut, results(path, held), held) if len(cut) > 1 else None
        for kernel in {s.kernel for s in path}:
            kernel.met += 1
    return chains[held]


def stretches(path: list[State]) -> list[list[State]]:
    """Cut a trace where it repeats itself. Each part is cut further between new calls and calls of earlier traces.

    With a growing cache of keys and values, only the calls of a layer's attention have new shapes for each token.
    """
    kernels = [s.kernel for s in path]
    ends = repeated_regions.cuts(kernels, [cost.COMPILING_CALL_ACCELERATOR] * len(path), longest=policy.MAX_CALLS)
    return [part for a, b in pairwise([0, *ends, len(path)]) for part in _apart(path[a:b])] if ends else [path]


def _apart(path: list[State]) -> list[list[State]]:
    """Split a part into new calls and known calls. A few known calls between new ones stay with the new ones."""
    groups = [(met, list(some)) for met, some in groupby(path, lambda s: s.kernel.met > 0)]
    out: list[tuple[bool, list[State]]] = []
    for met, some in groups:
        stays = met and (len(some) >= policy.FEW or len(groups) == 1)
        if out and out[-1][0] == stays:
            out[-1][1].extend(some)
        else:
            out.append((stays, some))
    return [some for _, some in out]


class RegionPrograms(Plan):
    """The programs of a trace that repeats itself. Long pieces that come once run call by call."""

    def __init__(self, trie: Trie, cut: list[list[State]], outs: list[int], held: bytes):
        super().__init__(list(segments(cut, outs, held, "its calls repeat", Threads())), trie.budget)
        self._counts: Counter[tuple[Kernel, ...]] = trie.pieces
        self._held = held
        self._compile()
        self.is_whole = True
        stats.counters.region_programs += 1

    def _compile(self) -> None:
        """Compile in parallel the pieces that are worth a program: repeated ones, short new ones, and frequent ones."""
        times = Counter([s.kind for s in self.segments])
        self._counts.update(times)
        wanted = [s.program for s in self.segments if self._is_worth_it(s.kind, times[s.kind])]
        self._plan_reads(wanted)
        compile_programs(wanted)

    def _plan_reads(self, programs: list[Program]) -> None:
        """Plan to copy held numbers to the host before they are read, if they are few in all. Other numbers are not copied."""
        for p in programs:
            p.soon_read = [k for k in p.soon_read if self._held[p.outs[k]]]
        if sum([len(p.soon_read) for p in programs]) > policy.FEW:
            for p in programs:
                p.soon_read = []

    def _is_worth_it(self, kind: tuple[Kernel, ...], times: int) -> bool:
        """Return whether a piece becomes a program.

        If all its kernels are compiled or used by several traces, they serve other traces too, and the piece must come often.
        """
        if all([kernel.compiled is not None or kernel.met >= policy.FEW for kernel in kind]):
            return len(kind) > 1 and self._counts[kind] >= policy.OFTEN
        return times > 1 or len(kind) <= policy.DOZENS
