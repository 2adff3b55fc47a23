"""The orders of ranks with two stages that form a V: the first and the last stage, the second and the last but one, ...

A microbatch goes down the ranks and up again, so the first rank has the loss. See ``orders.py``.
"""
from __future__ import annotations

from collections import Counter

from jtorch._parallel.pipelining.actions import (
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    FORWARD,
    FULL_BACKWARD,
    OVERLAP_F_B,
    Order,
    _Action,
    _ComputationType,
)


class _Writer:
    """Appends a rank's actions; each kind takes a stage's microbatches in order."""

    def __init__(self) -> None:
        self.made: list[_Action | None] = []
        self.done: Counter[tuple[int, _ComputationType]] = Counter()
        self.waiting: list[_Action] = []        # Gradients of parameters that are still to be computed.

    def _next(self, stage: int, kind: _ComputationType) -> _Action:
        counted = BACKWARD_INPUT if kind is FULL_BACKWARD else kind
        self.done[stage, counted] += 1
        return _Action(stage, kind, self.done[stage, counted] - 1)

    def add(self, stage: int, *kinds: _ComputationType) -> None:
        """Append a stage's next actions of these kinds."""
        self.made += [self._next(stage, kind) for kind in kinds]

    def add_input(self, stage: int, *, whole: bool = False) -> None:
        """Append a backward: a full one, or one of inputs only, whose weight gradients wait."""
        action = self._next(stage, FULL_BACKWARD if whole else BACKWARD_INPUT)
        self.made.append(action)
        if not whole:
            self.waiting.append(action._replace(computation_type=BACKWARD_WEIGHT))

    def add_weight(self) -> None:
        """Append the oldest weight gradient that waits, if there is one."""
        if self.waiting:
            self.made.append(self.waiting.pop(0))

    def add_both(self, forward: int, backward: int) -> None:
        """Append a stage's forward and another's backward as one overlapped action."""
        both = (self._next(forward, FORWARD), self._next(backward, FULL_BACKWARD))
        self.made.append(_Action(-1, OVERLAP_F_B, None, both))


def zero_bubble_v(ranks: int, stages: int, microbatches: int) -> Order:
    """Return the order of ZBV, which has no waiting times if forwards and both parts of backwards take equally long."""
    def of(rank: int) -> list[_Action | None]:
        made = _zero_bubble_v(rank, ranks, stages, max(2 * ranks - 1, microbatches))
        return [*[None] * rank, *[a if a.microbatch_index < microbatches else None for a in made]]
    return {rank: of(rank) for rank in range(ranks)}


def _zero_bubble_v(rank: int, ranks: int, stages: int, microbatches: int) -> list:
    down, up, w = rank, stages - 1 - rank, _Writer()
    backward = (BACKWARD_INPUT, BACKWARD_WEIGHT)
    w.add(down, *[FORWARD] * (2 * (ranks - rank) - 1))
    for _ in range(rank):
        w.add(up, FORWARD)
        w.add(down, FORWARD)
    for _ in range(ranks - rank):
        w.add(up, FORWARD, *backward)
    while w.done[up, FORWARD] < w.done[down, FORWARD] or w.done[down, FORWARD] < microbatches:
        if w.done[down, FORWARD] < microbatches:
            w.add(down, FORWARD)
        w.add(down, *backward)
        w.add(up, FORWARD, *backward)
    for _ in range(rank):
        w.add(down, BACKWARD_INPUT)
        w.add(up, BACKWARD_INPUT)
    for _ in range(ranks - rank):
        w.add(down, *backward)
    for stage in (up, down):
        w.add(stage, *[BACKWARD_WEIGHT] * (w.done[stage, BACKWARD_INPUT] - w.done[stage, BACKWARD_WEIGHT]))
    return w.made


def dual_pipe_v(ranks: int, microbatches: int) -> Order:
    """Return the order of DualPipeV. In its middle a microbatch's forward overlaps with another's backward."""
    return {rank: _dual_pipe_v(rank, ranks, microbatches) for rank in range(ranks)}


def _dual_pipe_v(rank: int, ranks: int, microbatches: int) -> list[_Action | None]:
    down, up, w = rank, 2 * ranks - 1 - rank, _Writer()
    behind = ranks - rank - 1
    w.add(down, *[FORWARD] * (2 * behind))
    for _ in range(rank + 1):
        w.add(down, FORWARD)
        w.add(up, FORWARD)
    for _ in range(behind):
        w.add_input(up)
        w.add_weight()
        w.add(up, FORWARD)
    for i in range(microbatches - 2 * ranks + rank + 1):
        if i == 0 and rank == ranks - 1:        # PyTorch separates this pair, so that other ranks wait less.
            w.add(down, FORWARD)
            w.add_input(up, whole=True)
        else:
            w.add_both(down, up)
        w.add_both(up, down)
    for _ in range(behind):
        w.add_input(up, whole=True)
        w.add_both(up, down)
    _drain(w, rank, behind, down, up)
    return w.made


def _drain(w: _Writer, rank: int, behind: int, down: int, up: int) -> None:
    """Append the last backwards: from the middle on, weight gradients fill the waiting times."""
    for i in range(2 * (rank + 1)):
        w.add_input(down if i % 2 else up, whole=i <= rank)
    for _ in range(behind):
        w.add_weight()
        w.add_input(down)
    for _ in range(rank + 1):
        w.add_weight()
