"""Checks that the orders of a pipeline's ranks fit together."""
from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jtorch._parallel.pipelining.actions import (
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    FORWARD,
    FULL_BACKWARD,
    RECV_B,
    RECV_F,
    SEND_B,
    SEND_F,
    Order,
    _Action,
    _ComputationType,
    _format_pipeline_order,
)

_FIRST = {FULL_BACKWARD: (FORWARD, "Full Backward", "Forward"), BACKWARD_INPUT: (FORWARD, "Backward Input", "Forward"),
          BACKWARD_WEIGHT: (BACKWARD_INPUT, "Backward Weight", "Backward Input")}


def _validate_schedule(actions: Order, pp_group_size: int, num_stages: int, num_microbatches: int) -> dict[int, int]:
    """Map each stage to its rank.

    AssertionError if a rank or a microbatch is missing, a backward has no forward before it, or two ranks run one stage.
    """
    if len(actions) != pp_group_size:
        raise AssertionError(f"Schedule has incorrect number of ranks - expected {pp_group_size}, actual {len(actions)}")
    for rank in range(pp_group_size):
        if rank not in actions:
            raise AssertionError(f"Schedule is missing actions for rank {rank}")
    done: dict[tuple[int, _ComputationType], set] = defaultdict(set)
    rank_of: dict[int, int] = {}
    for rank, step, part in _parts(actions):
        _check_before(actions, done, rank, step, part)
        done[part.stage_index, part.computation_type].add(part.microbatch_index)
        at = rank_of.setdefault(part.stage_index, rank)
        if at != rank:
            raise AssertionError(f"Rank {rank}, step {step}: Stage {part.stage_index} is assigned to both rank {rank} and "
                                 f"rank {at}")
    for stage in range(num_stages):
        _check_counts(stage, done, num_microbatches)
    return rank_of


def _parts(actions: Order) -> Iterator[tuple[int, int, _Action]]:
    for rank, listed in actions.items():
        for step, action in enumerate(listed):
            if action is None:
                continue
            if not isinstance(action, _Action):
                raise AssertionError(f"Rank {rank}, step {step}: Got an invalid action: {action}, expected instance of _Action")
            for part in action.parts:
                yield rank, step, part


def _check_before(actions: Order, done: Mapping, rank: int, step: int, part: _Action) -> None:
    if part.computation_type not in _FIRST:
        return
    needed, running, first = _FIRST[part.computation_type]
    if part.microbatch_index not in done[part.stage_index, needed]:
        raise AssertionError(f"Rank {rank}, step {step}: Running {running} for stage {part.stage_index}, microbatch "
                             f"{part.microbatch_index} without first running {first}\n\nFull pipeline schedule:\n"
                             f"{_format_pipeline_order(actions, step)}")


def _check_counts(stage: int, done: Mapping, expected: int) -> None:
    f, b, i, w = [len(done[stage, kind]) for kind in (FORWARD, FULL_BACKWARD, BACKWARD_INPUT, BACKWARD_WEIGHT)]
    if f != expected:
        raise AssertionError(f"Got {f} {FORWARD} microbatches for stage {stage}, expected {expected}")
    if i != w:
        raise AssertionError(f"Invalid backward microbatches for stage {stage}: I and W must have equal counts,             "
                             f"but got I={i}, W={w}")
    if b + (i + w) // 2 != expected:
        raise AssertionError(f"Invalid backward microbatches for stage {stage}: expected {expected} total backwards,             "
                             f"but got B={b}, I={i}, W={w}")


# ---------------------------------------------------------------- simulation of a schedule

def _needed(action: _Action, num_stages: int) -> tuple[int, list[tuple[int, _ComputationType]]]:
    """Return the stage on whose rank a predecessor must have run, and the possible predecessors as (stage, kind)."""
    stage, kind = action.stage_index, action.computation_type
    if kind is FORWARD:
        return stage, [] if stage == 0 else [(stage, RECV_F), (stage - 1, FORWARD)]
    if kind in (BACKWARD_INPUT, FULL_BACKWARD):
        after = [(stage, RECV_B), (stage + 1, BACKWARD_INPUT), (stage + 1, FULL_BACKWARD)]
        return stage, [] if stage == num_stages - 1 else after
    if kind is BACKWARD_WEIGHT:
        return stage, []
    if kind is SEND_F:
        return stage, [(stage, FORWARD)]
    if kind is SEND_B:
        return stage, [(stage, BACKWARD_INPUT), (stage, FULL_BACKWARD)]
    if kind is RECV_F:
        return stage - 1, [(stage - 1, SEND_F)]
    if kind is RECV_B:
        return stage + 1, [(stage + 1, SEND_B)]
    raise ValueError(f"Unsupported action type {action}")


def _simulate_comms_compute(pipeline_order: Mapping[int, Sequence[_Action | None]], stage_to_rank: Callable[[int], int],
                            num_stages: int) -> dict[int, list[_Action | None]]:
    """Simulate the ranks with actions of equal duration, and return their actions in each step; ValueError for a deadlock."""
    left = {rank: [a for a in pipeline_order[rank] if a is not None] for rank in sorted(pipeline_order)}
    made: dict[int, list[_Action | None]] = {rank: [] for rank in left}
    done: dict[int, set[_Action]] = {rank: set() for rank in left}

    def may_run(action: _Action) -> bool:
        at, needed = _needed(action, num_stages)
        before = done[stage_to_rank(at)] if needed else ()
        return not needed or any(_Action(stage, kind, action.microbatch_index) in before for stage, kind in needed)

    def run(rank: int) -> _Action:
        action = left[rank].pop(0)
        done[rank].add(action)
        return action

    while left := {rank: actions for rank, actions in left.items() if actions}:
        for rank in left:
            made[rank].append(run(rank) if may_run(left[rank][0]) else None)
        if all(made[rank][-1] is None for rank in left):
            raise ValueError("Schedule is not progressing")
        for rank in [r for r, actions in left.items() if actions and made[r][-1] is None]:
            if may_run(left[rank][0]):      # A later rank's action in this step may have made it possible.
                made[rank][-1] = run(rank)
    return made


def _dump_chrometrace(schedule: Mapping[int, Sequence[_Action | None]], filename: str) -> None:
    """Write an order as events of one time unit each, in Chrome's trace format."""
    events: list[dict[str, Any]] = []
    for rank in sorted(schedule):
        for step, action in enumerate(schedule[rank]):
            if action is not None:
                computed = action.computation_type in (FORWARD, FULL_BACKWARD, BACKWARD_WEIGHT)
                events.append({"name": str(action), "cat": "computation" if computed else "communication", "ph": "X",
                               "pid": rank, "tid": rank, "ts": step, "dur": 1})
    Path(filename).write_text(json.dumps({"traceEvents": events}))
