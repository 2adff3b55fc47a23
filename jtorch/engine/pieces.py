"""Cut a large trace into pieces, each of which becomes a program.

On an accelerator a trace is cut only where it would be too long for one program. On the CPU it is also cut where it repeats
itself (``repeated_regions``). A third kind of cut on the CPU is between two large pieces if few bytes cross it besides the
trace's results, as between backward and an optimizer's step. If only one of the two pieces has convolutions, both may be
smaller, because XLA compiles loops faster in a program without convolutions.
"""
from __future__ import annotations

from collections import Counter
from itertools import accumulate, pairwise
from math import inf
from typing import TYPE_CHECKING

from jtorch._base.config import ENGINE_MODE
from jtorch.engine import policy, repeated_regions

if TYPE_CHECKING:
    from jtorch.engine.kernel import Kernel
    from jtorch.engine.trie import State


def of_trace(path: list[State], outs: list[int], accelerated: bool) -> list[list[State]]:
    """Return the pieces of a trace. The slots ``outs`` are its results."""
    ends = _of_at_most(policy.MAX_CALLS_ACCELERATOR, len(path)) if accelerated else _ends(path, outs)
    return [path[start:end] for start, end in pairwise([0, *ends])]


def _ends(path: list[State], outs: list[int]) -> list[int]:
    """Return the ends of the pieces as positions in the trace. The last is the end of the trace."""
    kernels, seconds, equal = _equal_pieces(path)
    convolutions = [k.work.convolutions for k in kernels]
    free = _free(seconds, convolutions, _crossing(path, set(outs)))
    cuts = {*equal, *_outside_of_regions([0, *equal, len(path)], kernels, free)} - {0, len(path)}
    if sum(_running(kernels)) < (len(cuts) + 1) * policy.shortest_piece():
        cuts = set(equal)
    out = [0]
    for end in sorted({*cuts, len(path)} - {0}):
        out += [out[-1] + n for n in _of_at_most(policy.MAX_CALLS, end - out[-1])]
    return out[1:]


def _of_at_most(most: int, calls: int) -> list[int]:
    """Return the ends of pieces of about the same length, at most ``most`` calls each."""
    pieces = -(-calls // most)
    return [calls * k // pieces for k in range(1, pieces + 1)]


def compiled_calls(path: list[State]) -> int:
    """Return how many of the calls XLA compiles. Equal pieces are compiled once."""
    kernels, _, equal = _equal_pieces(path)
    return sum(map(len, {tuple(kernels[a:b]) for a, b in pairwise([0, *equal, len(path)])}))


def _equal_pieces(path: list[State]) -> tuple[list[Kernel], list[float], list[int]]:
    """Return the kernels of the calls, their seconds of compile time, and the cuts between equal pieces."""
    kernels, seconds = [s.kernel for s in path], [policy.call_compile_seconds(s.kernel.work) for s in path]
    return kernels, seconds, repeated_regions.cuts(kernels, seconds, _running(kernels))


def _running(kernels: list[Kernel]) -> list[float]:
    """Return the estimated seconds of each call in a run of a program; infinity in hot mode, so that no piece is too short."""
    return [inf if ENGINE_MODE == "hot" else policy.running_seconds(k.work) for k in kernels]


def _outside_of_regions(ends: list[int], kernels: list[Kernel], cuts: list[int]) -> list[int]:
    """Return the cuts that are not inside one of several equal pieces. Such a cut would make these pieces unequal."""
    pieces = list(pairwise(ends))
    counts = Counter([tuple(kernels[a:b]) for a, b in pieces])
    inside = {at for a, b in pieces if counts[tuple(kernels[a:b])] > 1 for at in range(a + 1, b)}
    return [at for at in cuts if at not in inside]


def _free(seconds: list[float], convolutions: list[int], crossing: list[int]) -> list[int]:
    """Return the cuts that few bytes cross, between pieces that take long enough to compile."""
    before, convolved = (list(accumulate(each, initial=0)) for each in (seconds, convolutions))
    cuts = [0]
    for at in range(1, len(seconds)):
        alike = (convolved[at] > convolved[cuts[-1]]) == (convolved[-1] > convolved[at])
        worth = policy.SAVED if alike else policy.PIECE
        if crossing[at] <= policy.MAX_CROSSING and min(before[at] - before[cuts[-1]], before[-1] - before[at]) >= worth:
            if len(cuts) > 1 and convolved[at] == convolved[cuts[-2]] and before[at] - before[cuts[-2]] < policy.SAVED:
                cuts.pop()      # The last two pieces have no convolutions and are short, so they stay one piece.
            cuts.append(at)
    return cuts


def _crossing(path: list[State], outs: set[int]) -> list[int]:
    """Return for each position the bytes that calls before it compute for calls after it, without the trace's results."""
    made = {i: (at, aval.nbytes) for at, s in enumerate(path) for i, aval in enumerate(s.outs, s.first) if i not in outs}
    last = {i: at for at, s in enumerate(path) for i in s.read if i in made}
    steps = [0] * (len(path) + 1)
    for i, at in last.items():
        steps[made[i][0] + 1] += made[i][1]
        steps[at + 1] -= made[i][1]
    return list(accumulate(steps))
