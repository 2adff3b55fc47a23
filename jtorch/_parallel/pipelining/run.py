"""Running one rank's actions of a step in order, while messages proceed."""
from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jtorch.distributed as dist
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
    _format_pipeline_order,
)
from jtorch.profiler import record_function

logger = logging.getLogger("torch.distributed.pipelining.schedules")


def _batch_p2p(p2p_ops: Sequence[Any], desc: str | None = None) -> list[Any]:
    """Begin messages; messages in one direction are begun one by one."""
    for op, side in ((dist.isend, "group_dst"), (dist.irecv, "group_src")):
        if p2p_ops and all(p.op is op for p in p2p_ops):
            return [p.op(p.tensor, group=p.group, tag=p.tag, **{side: p.group_peer}) for p in p2p_ops]
    return dist.batch_isend_irecv(list(p2p_ops)) if p2p_ops else []


def _wait_batch_p2p(work: Iterable[Any]) -> None:
    """Wait for messages."""
    for w in work:
        w.wait()


@dataclass
class _PipelineContext:
    """The context that custom functions of actions get."""

    schedule_ref: Any
    arg_mbs: list[tuple] | None = None
    kwarg_mbs: list[dict] | None = None
    target_mbs: list | None = None
    losses: list | None = None


class Run:
    """A step on one rank: its microbatches, and the pending messages.

    The schedule holds what custom functions may read: ``fwd_recv_ops``, ``bwd_recv_ops`` and ``backward_counter``.
    """

    def __init__(self, schedule: Any, context: _PipelineContext, return_outputs: bool, loss_kwargs: dict[str, Any] | None):
        self.schedule, self.context = schedule, context
        self.return_outputs, self.loss_kwargs = return_outputs, loss_kwargs
        self.stages = {stage.stage_index: stage for stage in schedule._listed}
        self.sends: list[Any] = []
        schedule.backward_counter.clear()
        schedule.fwd_recv_ops.clear()
        schedule.bwd_recv_ops.clear()

    def all(self, actions: Sequence[_Action], order: Mapping[int, Sequence[_Action | None]] | None = None,
            instead: Mapping[Any, Any] | None = None) -> None:
        """Run actions in order; ``instead`` maps kinds to custom functions. A failure is logged with the whole order."""
        instead = instead or {}
        for i, action in enumerate(actions):
            try:
                with record_function(f"PP:{action}"):
                    if action.computation_type in instead:
                        instead[action.computation_type](action, self.context)
                    else:
                        self._do(action)
            except Exception:
                logger.error("The step fails at action %s, %s\n%s", i, action, _format_pipeline_order(order, i) if order else "")
                raise
        _wait_batch_p2p(self.sends)

    def _do(self, action: _Action) -> None:
        if action.computation_type is OVERLAP_F_B and action.sub_actions is None:
            raise AssertionError("sub_actions must be set")
        for part in action.parts:
            if part.microbatch_index is None and part.computation_type not in (UNSHARD, RESHARD, REDUCE_GRAD):
                raise AssertionError(f"action={part!r} missing mb_index")
            if part.computation_type not in _DONE_BY:
                raise ValueError(f"action={part!r} is unknown or unsupported")
            _DONE_BY[part.computation_type](self, part, self.stages[part.stage_index], part.microbatch_index)

    # ------------------------------------------------------------ messages

    def _send(self, ops: Sequence[Any]) -> None:
        """Begin to send, and drop the sends that are complete."""
        done = [w for w in self.sends if w.is_completed()]
        _wait_batch_p2p(done)       # The wait raises the errors of the sends.
        self.sends = [w for w in self.sends if w not in done] + _batch_p2p(ops)

    def _send_forward(self, action: _Action, stage: Any, i: int) -> None:
        self._send(stage.get_fwd_send_ops(i))

    def _send_backward(self, action: _Action, stage: Any, i: int) -> None:
        self._send(stage.get_bwd_send_ops(i))

    def _receive_forward(self, action: _Action, stage: Any, i: int) -> None:
        self._receive(self.schedule.fwd_recv_ops, stage, i, stage.get_fwd_recv_ops(i), "forward")

    def _receive_backward(self, action: _Action, stage: Any, i: int) -> None:
        self._receive(self.schedule.bwd_recv_ops, stage, i, stage.get_bwd_recv_ops(i), "backward")

    @staticmethod
    def _receive(works: dict, stage: Any, i: int, ops: Sequence[Any], what: str) -> None:
        key = (stage.stage_index, i)
        if key in works:
            raise AssertionError(f"Recv twice for stage_idx={key[0]} mb_index={i} without executing {what}")
        works[key] = _batch_p2p(ops)

    @staticmethod
    def _wait(works: dict, stage: Any, i: int, says: str) -> None:
        key = (stage.stage_index, i)
        if key not in works:
            raise AssertionError(says)
        _wait_batch_p2p(works.pop(key))

    # ------------------------------------------------------------ computing

    def _forward(self, action: _Action, stage: Any, i: int) -> None:
        context, following = self.context, self.stages.get(stage.stage_index + 1)
        if not stage.is_first and stage.stage_index - 1 not in self.stages:
            self._wait(self.schedule.fwd_recv_ops, stage, i, f"Computing action={action!r} before receiving input")
        output = stage.forward_one_chunk(i, context.arg_mbs[i], context.kwarg_mbs[i],       # type: ignore[index]
                                         save_forward_output=self.return_outputs)
        self.schedule._maybe_compute_loss(stage, output, context.target_mbs, i, self.loss_kwargs)
        if following is not None:
            following.set_local_fwd_input(output, i)

    def _backward(self, action: _Action, stage: Any, i: int) -> None:
        full, before = action.computation_type is FULL_BACKWARD, self.stages.get(stage.stage_index - 1)
        if not stage.is_last and stage.stage_index + 1 not in self.stages:
            self._wait(self.schedule.bwd_recv_ops, stage, i, f"Attempted to run compute action={action!r} before receiving input")
        loss = self.schedule._maybe_get_loss(stage, i)
        stage.backward_one_chunk(i, loss=loss, full_backward=full, last_backward=full and self._is_last(stage))
        if before is not None and stage.has_backward:
            before.set_local_bwd_input(stage.get_local_bwd_output(i), i)

    def _backward_weight(self, action: _Action, stage: Any, i: int) -> None:
        stage.backward_weight_one_chunk(i, last_backward=self._is_last(stage))

    def _is_last(self, stage: Any) -> bool:
        """Return whether this is a stage's last backward of the step."""
        counts = self.schedule.backward_counter
        counts[stage.stage_index] += 1
        return counts[stage.stage_index] == self.schedule._n_microbatches

    def _reduce(self, action: _Action, stage: Any, i: Any) -> None:
        stage.perform_reduce_grad(self.schedule._n_microbatches if self.schedule.scale_grads else 1)

    def _nothing(self, action: _Action, stage: Any, i: Any) -> None:
        """Do nothing: modules sharded by ``fully_shard`` gather their parameters in each forward."""


_DONE_BY = {
    FORWARD: Run._forward, FULL_BACKWARD: Run._backward, BACKWARD_INPUT: Run._backward, BACKWARD_WEIGHT: Run._backward_weight,
    SEND_F: Run._send_forward, SEND_B: Run._send_backward, RECV_F: Run._receive_forward, RECV_B: Run._receive_backward,
    REDUCE_GRAD: Run._reduce, UNSHARD: Run._nothing, RESHARD: Run._nothing,
}
