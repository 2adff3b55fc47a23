"""Where a large trace is cut into pieces, each of which becomes a program.

It is cut where it repeats itself (``repeats``), where it would be too long for one program, and where the pieces on both sides
are large and nothing crosses that the trace does not give anyhow, as between backward and an optimizer's step. Smaller ones do
where one side alone has convolutions: a step of SGD's for ResNet-50's 161 parameters, which is 322 loops, is compiled in 0.65 s
for 1.1 without them, and takes 8 ms less (see ``convolutions.py``).
"""
from __future__ import annotations

from collections import Counter
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING

from jtorch._base.config import ENGINE_MODE
from jtorch.engine import policy, repeats, stats
from jtorch.engine.cost import Work

if TYPE_CHECKING:
    from jtorch.engine.kernel import Kernel
    from jtorch.engine.trie import State


def of_trace(path: list[State], outs: list[int], work: Work, accelerated: bool) -> list[list[State]]:
    """The pieces of a trace that gives the slots ``outs``."""
    ends = _of_at_most(policy.MAX_CALLS_THERE, len(path)) if accelerated else _ends(path, outs, work)
    pieces = [path[start:end] for start, end in pairwise([0, *ends])]
    return pieces if accelerated or len(pieces) == 1 else _put_off(pieces)


def _ends(path: list[State], outs: list[int], work: Work) -> list[int]:
    """The ends of the pieces, as numbers of calls; the last is that of the trace."""
    kernels, seconds, equal = _equal_pieces(path)
    convolutions = [k.work.convolutions for k in kernels]
    free = _free(seconds, convolutions, _crossing(path, set(outs)))
    cuts = {*equal, *_outside_of_alike([0, *equal, len(path)], kernels, free)} - {0, len(path)}
    saved = _saved([0, *sorted(cuts), len(path)], kernels, seconds)
    if ENGINE_MODE != "hot" and not policy.are_worth_starting(len(cuts) + 1, work, saved):
        cuts = set()
    out = [0]
    for end in sorted({*cuts, len(path)}):
        out += [out[-1] + n for n in _of_at_most(policy.MAX_CALLS, end - out[-1])]
    return out[1:]


def _of_at_most(most: int, calls: int) -> list[int]:
    """The ends of pieces of about the same length, none above ``most``."""
    pieces = -(-calls // most)
    return [calls * k // pieces for k in range(1, pieces + 1)]


def _put_off(pieces: list[list[State]]) -> list[list[State]]:
    """The pieces; where the last has no convolutions with small calls of others, which have some, that nothing there waits for.

    So running statistics are compiled with an optimizer's step: ResNet-50's are 106 loops, 0.3 s with the convolutions.
    """
    if _has_convolutions(pieces[-1]):
        return pieces
    off: list[list[State]] = []
    read: set[int] = set()      # by calls that stay in front of the last piece
    for piece in reversed(pieces[:-1]):
        off.insert(0, _unawaited(piece, read, may_move=_has_convolutions(piece)))
    stats.counters.put_off += sum(map(len, off))
    left = [[s for s in piece if s not in moved] for piece, moved in zip(pieces, map(set, off), strict=False)]
    return [*left, [*chain.from_iterable(off), *pieces[-1]]]


def _is_small(s: State) -> bool:
    """Whether a call is one that may be put off. Each Python number has a place in the code: no two loops with them are equal."""
    plain = not s.kernel.work.convolutions and s.call.check is None and all([i >= 0 for i in s.args])
    return plain and sum([a.nbytes for a in (*s.outs, *s.kernel.avals)]) <= policy.MAX_CROSSING


def _has_convolutions(piece: list[State]) -> bool:
    return any([s.kernel.work.convolutions for s in piece])


def _unawaited(piece: list[State], read: set[int], *, may_move: bool) -> list[State]:
    """The small calls of a piece whose results are not ``read`` by calls that stay, to which what the others read is added."""
    out = []
    for s in reversed(piece):
        if may_move and _is_small(s) and read.isdisjoint(range(s.first, s.first + len(s.outs))):
            out.append(s)
        else:
            read |= set(s.read)
    return out[::-1]


def compiled_calls(path: list[State], work: Work) -> int:
    """How many of the calls are compiled: of those in pieces that are alike only the first."""
    kernels, seconds, equal = _equal_pieces(path)
    at = [0, *equal, len(path)]
    if not policy.are_worth_starting(len(at), work, _saved(at, kernels, seconds)):
        return len(path)
    return sum(map(len, {tuple(kernels[a:b]) for a, b in pairwise(at)}))


def _equal_pieces(path: list[State]) -> tuple[list[Kernel], list[float], list[int]]:
    """The kernels of the calls, what each adds to the seconds of compiling, and where to cut between pieces that are alike."""
    kernels, seconds = [s.kernel for s in path], [policy.call_compile_seconds(s.kernel.work) for s in path]
    return kernels, seconds, repeats.cuts(kernels, seconds)


def _saved(ends: list[int], kernels: list[Kernel], seconds: list[float]) -> float:
    """The seconds of compiling that pieces between these ends save, since those that are alike are compiled once."""
    each = {tuple(kernels[a:b]): sum(seconds[a:b]) for a, b in pairwise(ends)}
    return sum(seconds) - sum(each.values())


def _outside_of_alike(ends: list[int], kernels: list[Kernel], cuts: list[int]) -> list[int]:
    """The cuts that are not inside one of several pieces that are alike, which would no longer be."""
    pieces = list(pairwise(ends))
    counts = Counter([tuple(kernels[a:b]) for a, b in pieces])
    inside = {at for a, b in pieces if counts[tuple(kernels[a:b])] > 1 for at in range(a + 1, b)}
    return [at for at in cuts if at not in inside]


def _free(seconds: list[float], convolutions: list[int], crossing: list[int]) -> list[int]:
    """The places where little crosses, between pieces that take long enough to compile."""
    before, convolved = (list(accumulate(each, initial=0)) for each in (seconds, convolutions))
    cuts = [0]
    for at in range(1, len(seconds)):
        alike = (convolved[at] > convolved[cuts[-1]]) == (convolved[-1] > convolved[at])
        worth = policy.WORTH_A_PIECE if alike else policy.OTHER_LOOPS
        if crossing[at] <= policy.MAX_CROSSING and min(before[at] - before[cuts[-1]], before[-1] - before[at]) >= worth:
            if len(cuts) > 1 and convolved[at] == convolved[cuts[-2]] and before[at] - before[cuts[-2]] < policy.WORTH_A_PIECE:
                cuts.pop()      # two pieces without convolutions, which are one
            cuts.append(at)
    return cuts


def _crossing(path: list[State], outs: set[int]) -> list[int]:
    """For each place, the bytes that calls in front of it make for calls behind it, and that the trace does not give anyhow."""
    made = {i: (at, aval.nbytes) for at, s in enumerate(path) for i, aval in enumerate(s.outs, s.first) if i not in outs}
    last = {i: at for at, s in enumerate(path) for i in s.read if i in made}
    steps = [0] * (len(path) + 1)
    for i, at in last.items():
        steps[made[i][0] + 1] += made[i][1]
        steps[at + 1] -= made[i][1]
    return list(accumulate(steps))
