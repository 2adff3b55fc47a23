"""Lowering of computations to all actions: messages, gathers and reductions are inserted."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from jtorch._parallel.pipelining.actions import (
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    FORWARD,
    FULL_BACKWARD,
    OVERLAP_F_B,
    RECV_B,
    RECV_F,
    REDUCE_GRAD,
    RESHARD,
    SEND_B,
    SEND_F,
    UNSHARD,
    _Action,
)

BACKWARDS = (BACKWARD_INPUT, FULL_BACKWARD)


def _add_reduce_grad(actions: Sequence[_Action | None], n_microbatches: int) -> list[_Action | None]:
    """Insert a reduction of each stage's gradients after its last backward."""
    made: list[_Action | None] = []
    done: Counter[int] = Counter()
    for action in actions:
        if action is None:
            continue
        made.append(action)
        for part in action.parts if action.computation_type is OVERLAP_F_B else (action,):
            if part.computation_type in (BACKWARD_WEIGHT, FULL_BACKWARD):
                done[part.stage_index] += 1
                if done[part.stage_index] == n_microbatches:
                    made.append(_Action(part.stage_index, REDUCE_GRAD))
    return made


def _next_stages(actions: Sequence[_Action | None], count: int) -> list[int]:
    """Return the next ``count`` stages that compute."""
    found: dict[int, None] = {}
    for action in actions:
        if action is not None:
            found.update(dict.fromkeys([part.stage_index for part in action.parts]))
            if len(found) >= count:
                break
    return list(found)


def _add_unshard_reshard(compute_actions: Sequence[_Action | None], max_active_stages: int = 3) -> list[_Action]:
    """Insert gathers before stages compute and frees after them; at most ``max_active_stages`` are gathered at a time."""
    active: set[int] = set()
    made: list[_Action] = []

    def let_go(stages: list[int]) -> None:
        active.difference_update(stages)
        made.extend([_Action(s, RESHARD) for s in stages])

    for i, action in enumerate(compute_actions):
        if action is None:
            continue
        wanted = _next_stages(compute_actions[i:], max_active_stages)
        let_go([s for s in active if s not in wanted])
        made += [_Action(s, UNSHARD) for s in wanted if s not in active]
        active.update(wanted)
        made.append(action)
    let_go(list(active))
    return made


def _merge_bw(compute_actions: Sequence[_Action | None]) -> list[_Action]:
    """Merge consecutive backwards of inputs and weights into one full backward."""
    made: list[_Action] = []
    for action in compute_actions:
        if action is None:
            continue
        input_first = action._replace(computation_type=BACKWARD_INPUT)
        if action.computation_type is BACKWARD_WEIGHT and made and made[-1] == input_first:
            made[-1] = action._replace(computation_type=FULL_BACKWARD)
        else:
            made.append(action)
    return made


# ---------------------------------------------------------------- messages

class _Messages:
    """The messages that computations cause, and the test of whether the inputs of an action have arrived."""

    def __init__(self, stage_to_rank: Callable[[int], int], num_stages: int):
        self.rank_of, self.last = stage_to_rank, num_stages - 1

    def behind(self, action: _Action) -> tuple[_Action, _Action] | None:
        """Return the send and the receive that follow an action; None if the next stage is on the same rank."""
        forward, stage = action.computation_type is FORWARD, action.stage_index
        other = stage + 1 if forward else stage - 1
        if not (forward or action.computation_type in BACKWARDS) or not 0 <= other <= self.last:
            return None
        if self.rank_of(other) == self.rank_of(stage):
            return None
        return (_Action(stage, SEND_F if forward else SEND_B, action.microbatch_index),
                _Action(other, RECV_F if forward else RECV_B, action.microbatch_index))

    def ready(self, action: _Action | None, before: set[_Action]) -> bool:
        """Return whether an action's inputs have arrived."""
        if action is None:
            return True
        stage, mb = action.stage_index, action.microbatch_index
        if action.computation_type is FORWARD and stage != 0:
            needed = [_Action(stage, RECV_F, mb), _Action(stage - 1, FORWARD, mb)]
        elif action.computation_type in BACKWARDS and stage != self.last:
            needed = [_Action(stage, RECV_B, mb), *[_Action(stage + 1, kind, mb) for kind in BACKWARDS]]
        else:
            return True
        return any(a in before for a in needed)


def _add_send_recv(compute_actions: dict[int, list[_Action]], stage_to_rank: Callable[[int], int],
                   num_stages: int) -> dict[int, list[_Action]]:
    """Insert messages. A send and its receive are added to the two ranks' actions together, so that ranks do not deadlock.

    ``compute_actions`` is emptied. AssertionError if the inputs of an action never arrive.
    """
    messages = _Messages(stage_to_rank, num_stages)
    made: dict[int, list[_Action]] = {rank: [] for rank in compute_actions}
    before: dict[int, set[_Action]] = {rank: set() for rank in compute_actions}

    def put(rank: int, action: _Action) -> None:
        made[rank].append(action)
        before[rank].add(action)

    def put_with_messages(rank: int, action: _Action) -> None:
        made[rank].append(action)
        before[rank].update(action.parts)
        for both in [found for part in action.parts if (found := messages.behind(part)) is not None]:
            put(rank, both[0])
            put(stage_to_rank(both[1].stage_index), both[1])

    while compute_actions:
        progress = False
        for rank in sorted(compute_actions):
            action = compute_actions[rank][0]
            if not all(messages.ready(part, before[rank]) for part in (action.parts if action is not None else ())):
                continue
            if action is not None:
                put_with_messages(rank, action)
            progress = True
            compute_actions[rank].pop(0)
            if not compute_actions[rank]:
                del compute_actions[rank]
        if not progress:
            raise AssertionError("Malformed compute schedule, can't schedule sends/recvs")
    return made


_CONSUMED = {FORWARD: RECV_F, FULL_BACKWARD: RECV_B, BACKWARD_INPUT: RECV_B}
_OTHER_STAGE = {RECV_F: -1, RECV_B: 1, SEND_F: 1, SEND_B: -1}


def _defer_recv_ops(actions: dict[int, list[_Action]], stage_to_rank: Callable[[int], int]) -> dict[int, list[_Action]]:
    """Move receives as late as possible: to where the tensor is needed, or before a send to the same higher rank.

    AssertionError if a received tensor is never needed.
    """
    return {rank: _deferred(rank, listed, stage_to_rank) for rank, listed in actions.items()}


def _deferred(rank: int, actions: list[_Action], stage_to_rank: Callable[[int], int]) -> list[_Action]:
    made: list[_Action] = []
    waiting: dict[_Action, int] = {}        # Maps each pending receive to the sender's rank.
    for action in actions:
        kind = action.computation_type
        if kind in _OTHER_STAGE:
            peer = stage_to_rank(action.stage_index + _OTHER_STAGE[kind])
            if kind in (RECV_F, RECV_B):
                waiting[action] = peer
                continue
            first = [a for a, source in waiting.items() if source == peer and rank < peer]
        else:
            first = [a for part in action.parts if part.computation_type in _CONSUMED
                     and (a := part._replace(computation_type=_CONSUMED[part.computation_type])) in waiting]
        for a in first:
            del waiting[a]
        made += [*first, action]
    if waiting:
        raise AssertionError(f"Malformed input schedule on rank {rank}: leftover RECV ops with no consumer found: "
                             f"{list(waiting)}. Every RECV must be consumed by a downstream compute op.")
    return made
