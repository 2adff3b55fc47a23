"""Schedules with one stage on each rank: forward only, GPipe, 1F1B."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._parallel.pipelining import orders
from jtorch._parallel.pipelining.actions import (
    FORWARD,
    FULL_BACKWARD,
    RECV_B,
    RECV_F,
    REDUCE_GRAD,
    SEND_B,
    SEND_F,
    Order,
    _Action,
    _ComputationType,
)
from jtorch._parallel.pipelining.lowering import _add_reduce_grad
from jtorch._parallel.pipelining.microbatch import TensorChunkSpec
from jtorch._parallel.pipelining.schedule import _PipelineSchedule

_AROUND = {FORWARD: (RECV_F, SEND_F), FULL_BACKWARD: (RECV_B, SEND_B)}


class PipelineScheduleSingle(_PipelineSchedule):
    """The base class of schedules with one stage; subclasses give the order of microbatches (``_turns``).

    Args:
        stage: this rank's stage.
        n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads: as for all schedules.

    """

    def __init__(self, stage: Any, n_microbatches: int, loss_fn: Callable | None = None,
                 args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
                 kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
                 output_merge_spec: dict[str, Any] | tuple[Any] | None = None, scale_grads: bool = True):
        super().__init__(n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads)
        self._stage, self._listed, self._num_stages = stage, [stage], stage.num_stages
        self.pipeline_order = self._get_pipeline_order()

    def _get_pipeline_order(self) -> Order | None:
        """Return the order of all ranks, for inspection."""
        return None

    def _reduced(self, order: Order) -> Order:
        return {rank: _add_reduce_grad(actions, self._n_microbatches) for rank, actions in order.items()}

    def _turns(self) -> list[tuple[_ComputationType, int]]:
        """Return the stage's forwards and backwards, in order."""
        raise NotImplementedError

    def _actions(self) -> list[_Action]:
        """Return all actions of the rank: each turn with the message before and after it."""
        at = self._stage.stage_index
        made = [_Action(at, kind, i) for turn, i in self._turns() for kind in (_AROUND[turn][0], turn, _AROUND[turn][1])]
        return [*made, _Action(at, REDUCE_GRAD)]

    def _step_microbatches(self, arg_mbs: list | None = None, kwarg_mbs: list | None = None, target_mbs: list | None = None,
                           losses: list | None = None, return_outputs: bool = True,
                           loss_kwargs: dict[str, Any] | None = None) -> None:
        self._begin_step(arg_mbs, kwarg_mbs, target_mbs, losses, return_outputs, loss_kwargs).all(self._actions())
        self._update_losses(self._stage, losses)


class _ScheduleForwardOnly(PipelineScheduleSingle):
    """Runs forwards only; RuntimeError if a step is given targets or a list for losses."""

    def _turns(self) -> list[tuple[_ComputationType, int]]:
        return [(FORWARD, i) for i in range(self._n_microbatches)]

    def _actions(self) -> list[_Action]:
        return super()._actions()[:-1]

    def _step_microbatches(self, arg_mbs: list | None = None, kwarg_mbs: list | None = None, target_mbs: list | None = None,
                           losses: list | None = None, return_outputs: bool = True,
                           loss_kwargs: dict[str, Any] | None = None) -> None:
        if target_mbs is not None or losses is not None:
            raise RuntimeError("Forward-only schedule does not support loss computation")
        super()._step_microbatches(arg_mbs, kwarg_mbs)


class ScheduleGPipe(PipelineScheduleSingle):
    """Runs all microbatches forward, then all backward. See torch.distributed.pipelining.ScheduleGPipe.

    Args:
        stage: this rank's stage.
        n_microbatches: the number of microbatches.
        loss_fn: a function of a microbatch's output and target that returns the loss; without it only forwards run.
        args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads: as for all schedules.

    """

    def _turns(self) -> list[tuple[_ComputationType, int]]:
        return [(kind, i) for kind in (FORWARD, FULL_BACKWARD) for i in range(self._n_microbatches)]

    def _get_pipeline_order(self) -> Order:
        return self._reduced(orders.fill_and_drain(self._num_stages, self._n_microbatches))


class Schedule1F1B(PipelineScheduleSingle):
    """Runs forwards and backwards in turn, so that few microbatches are kept. See torch.distributed.pipelining.Schedule1F1B.

    Raises:
        ValueError: fewer microbatches than stages.

    """

    def __init__(self, stage: Any, n_microbatches: int, *args: Any, **kwargs: Any):
        super().__init__(stage, n_microbatches, *args, **kwargs)
        if n_microbatches < self._num_stages:
            raise ValueError(f"Number of microbatches ({n_microbatches}) must be greater than or equal to the number of stages "
                             f"({self._num_stages}).")

    def _turns(self) -> list[tuple[_ComputationType, int]]:
        n = self._n_microbatches
        ahead = min(n, self._num_stages - self._stage.stage_index)
        made = [(FORWARD, i) for i in range(ahead)]
        for i in range(n - ahead):
            made += [(FULL_BACKWARD, i), (FORWARD, ahead + i)]
        return made + [(FULL_BACKWARD, i) for i in range(n - ahead, n)]

    def _get_pipeline_order(self) -> Order:
        return self._reduced(orders.one_forward_one_backward(self._num_stages, self._n_microbatches))
