"""The named schedules that run several stages on each rank."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._parallel.pipelining import orders, orders_v
from jtorch._parallel.pipelining.actions import Order
from jtorch._parallel.pipelining.metadata import generate_stage_to_rank_mapping
from jtorch._parallel.pipelining.multi import PipelineScheduleMulti, _PipelineScheduleRuntime
from jtorch._parallel.pipelining.single import PipelineScheduleSingle, Schedule1F1B, ScheduleGPipe


class _Ordered(_PipelineScheduleRuntime):
    """A schedule whose ``_order`` is computed from the numbers of ranks, stages and microbatches."""

    def __init__(self, stages: list[Any], n_microbatches: int, loss_fn: Callable | None = None, args_chunk_spec: Any = None,
                 kwargs_chunk_spec: Any = None, output_merge_spec: Any = None, scale_grads: bool = True,
                 backward_requires_autograd: bool = True, defer_pp_recv: bool = False):
        super().__init__(stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec,
                         scale_grads=scale_grads, backward_requires_autograd=backward_requires_autograd,
                         defer_pp_recv=defer_pp_recv)
        self.n_local_stages = len(stages)
        self.pipeline_order = self._order()
        self._prepare_schedule_with_comms(self.pipeline_order)

    def _order(self) -> Order:
        raise NotImplementedError


class ScheduleLoopedBFS(_Ordered):
    """Runs all microbatches through one stage before the next. See torch.distributed.pipelining.ScheduleLoopedBFS."""

    def __init__(self, stages: list[Any], n_microbatches: int, loss_fn: Callable | None = None, output_merge_spec: Any = None,
                 scale_grads: bool = True, backward_requires_autograd: bool = True, defer_pp_recv: bool = False):
        super().__init__(stages, n_microbatches, loss_fn, None, None, output_merge_spec, scale_grads, backward_requires_autograd,
                         defer_pp_recv)

    def _order(self) -> Order:
        return orders.breadth_first(self.pp_group_size, self.n_local_stages, self._n_microbatches)


class _Rounds(_Ordered):
    """A schedule whose microbatches come in rounds; ValueError if the rounds cannot have equally many."""

    _what = ""

    def _interleaved(self) -> orders.Interleaved:
        made = orders.Interleaved(self.pp_group_size, self.n_local_stages, self._n_microbatches)
        self.number_of_rounds, self.microbatches_per_round = made.rounds, made.per_round
        if self._n_microbatches % made.rounds:
            raise ValueError(f"{self._what} requires the number of microbatches to be a multiple of the number of rounds "
                             f"({made.rounds}), but got {self._n_microbatches}.")
        return made


class ScheduleInterleaved1F1B(_Rounds):
    """Runs 1F1B with several stages on each rank. See torch.distributed.pipelining.ScheduleInterleaved1F1B."""

    _what = "Interleaved 1F1B"

    def _order(self) -> Order:
        return self._interleaved().alternating()


class ScheduleInterleavedZeroBubble(_Rounds):
    """Runs 1F1B and fills waiting times with weight gradients. See
    torch.distributed.pipelining.ScheduleInterleavedZeroBubble.
    """

    _what = "Zero bubble"

    def _order(self) -> Order:
        return self._interleaved().without_bubbles()


class _V(_Ordered):
    """A schedule with two stages on each rank, equally far from both ends; ValueError for another number."""

    def _two(self) -> None:
        if self.n_local_stages != 2:
            raise ValueError(f"ZBV requires exactly 2 stages per rank, but got {self.n_local_stages}.")
        self.num_stages = self._num_stages
        self._place(generate_stage_to_rank_mapping(self.pp_group_size, self._num_stages, "v"))


class ScheduleZBVZeroBubble(_V):
    """Runs stages in a V, without waiting times if all parts take equally long.

    See torch.distributed.pipelining.ScheduleZBVZeroBubble.
    """

    def _order(self) -> Order:
        self._two()
        return orders_v.zero_bubble_v(self.pp_group_size, self._num_stages, self._n_microbatches)


class ScheduleDualPipeV(_V):
    """Runs stages in a V, with forwards that overlap with backwards. See torch.distributed.pipelining.ScheduleDualPipeV."""

    def _order(self) -> Order:
        self._two()
        if self._n_microbatches < self._num_stages:
            raise ValueError(f"DualPipeV requires at least as many microbatches as stages, but got {self._n_microbatches} "
                             f"microbatches and {self._num_stages} stages.")
        return orders_v.dual_pipe_v(self.pp_group_size, self._n_microbatches)


_BY_NAME: dict[str, type] = {
    "1F1B": Schedule1F1B, "Interleaved1F1B": ScheduleInterleaved1F1B, "GPipe": ScheduleGPipe, "LoopedBFS": ScheduleLoopedBFS,
    "InterleavedZeroBubble": ScheduleInterleavedZeroBubble, "PipelineScheduleSingle": PipelineScheduleSingle,
    "PipelineScheduleMulti": PipelineScheduleMulti, "ZBVZeroBubble": ScheduleZBVZeroBubble, "DualPipeV": ScheduleDualPipeV,
}


def get_schedule_class(schedule_name: str) -> type:
    """Return the schedule with this name, in upper or lower case; raise ValueError if none has it.

    >>> get_schedule_class("gpipe").__name__
    'ScheduleGPipe'

    """
    found = {name.lower(): cls for name, cls in _BY_NAME.items()}.get(schedule_name.lower())
    if found is None:
        raise ValueError(f"Unknown schedule name '{schedule_name}'. The valid options are {list(_BY_NAME)}")
    return found
