"""The order of actions that defines each schedule, as functions of the numbers of ranks, stages and microbatches.

The functions return each rank's forwards and backwards, with None where a rank waits for others. ``lowering.py`` adds
messages.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from jtorch._parallel.pipelining.actions import (
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    FORWARD,
    FULL_BACKWARD,
    Order,
    _Action,
    _ComputationType,
)

Actions = list[_Action | None]


def _all(stage: int, kind: _ComputationType, microbatches: int) -> list[_Action]:
    return [_Action(stage, kind, i) for i in range(microbatches)]


def fill_and_drain(ranks: int, microbatches: int) -> Order:
    """Return GPipe's order: all forwards, then all backwards."""
    return {rank: [*_all(rank, FORWARD, microbatches), *_all(rank, FULL_BACKWARD, microbatches)] for rank in range(ranks)}


def one_forward_one_backward(ranks: int, microbatches: int) -> Order:
    """Return the order of 1F1B: one forward for each later stage, then forwards and backwards in turn."""
    def of(rank: int) -> Actions:
        ahead = ranks - 1 - rank
        made: Actions = [*_all(rank, FORWARD, ahead)]
        for i in range(microbatches - ahead):       # On the last rank PyTorch's forwards begin with microbatch 1, not 0.
            made += [_Action(rank, FORWARD, max(ahead, 1) + i), _Action(rank, FULL_BACKWARD, i)]
        return made + [_Action(rank, FULL_BACKWARD, i) for i in range(max(microbatches - ahead, 0), microbatches)]
    return {rank: of(rank) for rank in range(ranks)}


def breadth_first(ranks: int, local_stages: int, microbatches: int) -> Order:
    """Return the order of looped BFS: all microbatches through each stage in turn, and backwards in reverse."""
    def of(rank: int) -> Actions:
        stages = range(rank, ranks * local_stages, ranks)
        made: Actions = [None] * rank
        for stage in stages:
            made += _all(stage, FORWARD, microbatches)
        made += [None] * (2 * (ranks - 1 - rank))
        for stage in reversed(stages):
            made += reversed(_all(stage, FULL_BACKWARD, microbatches))
        return made
    return {rank: of(rank) for rank in range(ranks)}


# ---------------------------------------------------------------- interleaved stages

class _Microbatches:
    """Counts the microbatches that each stage has run, for one kind of action."""

    def __init__(self, kind: _ComputationType):
        self.kind, self.done = kind, Counter[int]()

    def next(self, stage: int) -> _Action:
        """Return the stage's next action."""
        self.done[stage] += 1
        return _Action(stage, self.kind, self.done[stage] - 1)


class Interleaved:
    """The orders of ranks whose stages are ``ranks`` apart: interleaved 1F1B and zero bubble."""

    def __init__(self, ranks: int, local_stages: int, microbatches: int):
        self.ranks, self.local_stages, self.microbatches = ranks, local_stages, microbatches
        self.rounds = max(1, microbatches // ranks)
        self.per_round = microbatches // self.rounds

    def _warmups(self, rank: int, a_hop: int) -> int:
        """Return the number of forwards before the first backward; each rank before the last adds ``a_hop``."""
        wanted = (self.local_stages - 1) * self.per_round + a_hop * (self.ranks - 1 - rank)
        return min(wanted, self.microbatches * self.local_stages)

    def _stages(self, rank: int, warmups: int) -> tuple[Callable[[int], int], Callable[[int], int]]:
        """Return functions that give the stage at a step, for forwards and for backwards."""
        def forward(step: int) -> int:
            return step // self.per_round % self.local_stages * self.ranks + rank

        def backward(step: int) -> int:
            turn = (step - warmups) // self.per_round % self.local_stages
            return (self.local_stages - 1 - turn) * self.ranks + rank
        return forward, backward

    def alternating(self) -> Order:
        """Return the order of interleaved 1F1B."""
        return {rank: self._alternating(rank) for rank in range(self.ranks)}

    def _alternating(self, rank: int) -> Actions:
        warmups, total = self._warmups(rank, 2), self.local_stages * self.microbatches
        forward, backward = self._stages(rank, warmups)
        f, b = _Microbatches(FORWARD), _Microbatches(FULL_BACKWARD)
        waits = self.local_stages * self.ranks + 2 * (self.ranks - 1 - rank) - (warmups + rank)
        made: Actions = [*[None] * rank, *[f.next(forward(step)) for step in range(warmups)]]
        made += [None] * (waits if warmups else 0)
        for step in range(warmups, warmups + total):
            made += [f.next(forward(step)) if step < total else None, b.next(backward(step))]
        return made

    def without_bubbles(self) -> Order:
        """Return the order of ZB1P, in which gradients of parameters fill waiting times."""
        return _with_bubbles({rank: self._without_bubbles(rank) for rank in range(self.ranks)}, self.local_stages * self.ranks)

    def _without_bubbles(self, rank: int) -> Actions:
        warmups, total = self._warmups(rank, 1), self.local_stages * self.microbatches
        forward, backward = self._stages(rank, warmups)
        f, i, w = _Microbatches(FORWARD), _Microbatches(BACKWARD_INPUT), _Microbatches(BACKWARD_WEIGHT)
        made: Actions = [*[None] * rank, *[f.next(forward(step)) for step in range(warmups)]]
        made += [None] * (self.ranks - rank - 1 if warmups else 0)
        weights = iter(range(warmups, warmups + total))     # The gradients of parameters follow the order of those of inputs.
        for step in range(warmups, warmups + total):
            made += [f.next(forward(step))] if step < total else []
            made.append(i.next(backward(step)))
            if step - warmups >= rank:
                made.append(w.next(backward(next(weights))))
        return made + [w.next(backward(step)) for step in weights]


def _with_bubbles(order: Order, stages: int) -> Order:
    """Insert None where a rank has to wait for another rank's action, if all actions take equally long."""
    made: Order = {rank: [] for rank in order}
    at, seen = dict.fromkeys(order, 0), set[_Action]()
    while True:
        now = {rank: order[rank][at[rank]] for rank in order if at[rank] < len(order[rank])}
        if not now:
            return made
        ready = {rank: a for rank, a in now.items() if a is None or not _too_early(a, stages, seen)}
        for rank in now:
            made[rank].append(ready.get(rank))
            at[rank] += rank in ready
        seen |= {a for a in ready.values() if a is not None}


def _too_early(a: _Action, stages: int, seen: set[_Action]) -> bool:
    if a.computation_type is FORWARD:
        return a.stage_index != 0 and a._replace(stage_index=a.stage_index - 1) not in seen
    if a.computation_type is FULL_BACKWARD:
        last = a.stage_index == stages - 1
        return (a._replace(computation_type=FORWARD) if last else a._replace(stage_index=a.stage_index + 1)) not in seen
    return False
