"""Schedules with several stages on each rank: an order of all ranks' actions, of which each rank runs its own."""
from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol

from jtorch._parallel.pipelining.actions import (
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    FORWARD,
    FULL_BACKWARD,
    OVERLAP_F_B,
    REDUCE_GRAD,
    RESHARD,
    UNSHARD,
    Order,
    _Action,
    _ComputationType,
)
from jtorch._parallel.pipelining.checking import _simulate_comms_compute, _validate_schedule
from jtorch._parallel.pipelining.lowering import _add_reduce_grad, _add_send_recv, _add_unshard_reshard, _defer_recv_ops
from jtorch._parallel.pipelining.metadata import generate_stage_to_rank_mapping
from jtorch._parallel.pipelining.microbatch import TensorChunkSpec
from jtorch._parallel.pipelining.run import _PipelineContext, logger
from jtorch._parallel.pipelining.schedule import _PipelineSchedule

Format = Literal["compute_only", "compute_comms"]


def _read(filename: str) -> Order:
    with open(filename, newline="") as file:
        return {rank: [_Action.from_str(cell) for cell in row] for rank, row in enumerate(csv.reader(file))}


def _write(filename: str, order: Any) -> None:
    with Path(filename).open("w", newline="") as file:
        csv.writer(file).writerows(order.values())


class PipelineScheduleMulti(_PipelineSchedule):
    """The base class of schedules with several stages; subclasses compute ``pipeline_order``.

    Args:
        stages: this rank's stages.
        n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads: as for all schedules.
        use_full_backward: accepted and ignored.
        backward_requires_autograd: False if custom functions compute gradients without autograd.

    """

    def __init__(self, stages: list[Any], n_microbatches: int, loss_fn: Callable | None = None,
                 args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
                 kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
                 output_merge_spec: dict[str, Any] | tuple[Any] | None = None, use_full_backward: bool | None = None,
                 scale_grads: bool = True, backward_requires_autograd: bool = True):
        super().__init__(n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads)
        self._stages = self._listed = stages
        self._num_stages, self.pp_group_size, self.rank = stages[0].num_stages, stages[0].group_size, stages[0].group_rank
        self._place(generate_stage_to_rank_mapping(self.pp_group_size, self._num_stages))
        self.pipeline_order: Order = {}
        self.pipeline_order_with_comms: dict[int, list[_Action]] = {}
        self._comp_type_to_function_map: dict[_ComputationType, Callable] = {}
        self._backward_requires_autograd = backward_requires_autograd
        if use_full_backward is not None:
            logger.warning("Deprecation warning: 'use_full_backward' is no longer supported. Simply stop passing it, and "
                           "everything should still work fine.")

    def _place(self, rank_of: dict[int, int]) -> None:
        """Tell the stages which rank runs each."""
        self.stage_index_to_group_rank = rank_of
        for stage in self._stages:
            stage.stage_index_to_group_rank = rank_of

    def _validate_and_set_stage_mapping(self, actions: Order) -> None:
        self._place(_validate_schedule(actions, self.pp_group_size, self._num_stages, self._n_microbatches))

    def _lowered(self, actions: Order) -> dict[int, list[_Action]]:
        """Insert messages, gathers and reductions into an order."""
        made: Any = {rank: _add_reduce_grad(_add_unshard_reshard(a), self._n_microbatches) for rank, a in actions.items()}
        return _add_send_recv(made, self.stage_index_to_group_rank.__getitem__, self._num_stages)

    def _initialize(self, *args: Any, **kwargs: Any) -> bool:
        first = super()._initialize(*args, **kwargs)
        for stage in self._stages if first else ():
            at = stage.stage_index
            sources = {info.source for info in stage.args_recv_info[0] if info.source is not None}
            _check_adjacent(at, "forward recv", sources, set() if stage.is_first else {at - 1})
            targets = {to for listed in stage.act_send_info.values() for to in listed if to is not None}
            _check_adjacent(at, "forward send", targets, set() if stage.is_last else {at + 1})
        return first

    def _step_microbatches(self, arg_mbs: list | None = None, kwarg_mbs: list | None = None, target_mbs: list | None = None,
                           losses: list | None = None, return_outputs: bool = True,
                           loss_kwargs: dict[str, Any] | None = None) -> None:
        run = self._begin_step(arg_mbs, kwarg_mbs, target_mbs, losses, return_outputs, loss_kwargs)
        if not self.pipeline_order_with_comms:
            self.pipeline_order_with_comms = self._lowered(self.pipeline_order)
        run.all(self.pipeline_order_with_comms[self.rank], self.pipeline_order_with_comms, self._comp_type_to_function_map)
        self._update_losses(self._stages, losses)

    def _dump_csv(self, filename: str) -> None:
        """Write the order as CSV, with a line for each rank."""
        _write(filename, self.pipeline_order)

    def _load_csv(self, filename: str, format: Format = "compute_only") -> None:
        """Read the order from a CSV file."""
        if format != "compute_only":
            raise AssertionError(f'format must be "compute_only", got {format}')
        self.pipeline_order, self.pipeline_order_with_comms = _read(filename), {}
        self._validate_and_set_stage_mapping(self.pipeline_order)


def _check_adjacent(stage: int, direction: str, found: set[int], allowed: set[int]) -> None:
    others = found - allowed
    if others:
        raise RuntimeError(f"PipelineScheduleMulti only supports adjacent-stage communication, but stage {stage} has {direction} "
                           f"stages {sorted(found)} with non-adjacent stages {sorted(others)} (allowed adjacent stages: "
                           f"{sorted(allowed)}). This commonly indicates skip connections, which are unsupported in this "
                           "schedule runtime.")


class _CustomFunctionProtocol(Protocol):
    def __call__(self, action: _Action, ctx: _PipelineContext) -> None: ...


_REPLACEABLE = (FORWARD, FULL_BACKWARD, BACKWARD_INPUT, BACKWARD_WEIGHT, OVERLAP_F_B, UNSHARD, RESHARD, REDUCE_GRAD)


class _PipelineScheduleRuntime(PipelineScheduleMulti):
    """Runs any order, with or without messages, from a file or a subclass.

    Args:
        defer_pp_recv: whether tensors are received as late as possible.
        args, kwargs: the arguments of ``PipelineScheduleMulti``.

    """

    def __init__(self, *args: Any, defer_pp_recv: bool = False, **kwargs: Any):
        self._defer_pp_recv = defer_pp_recv
        super().__init__(*args, **kwargs)

    def register_custom_function(self, computation_type: _ComputationType, custom_function: _CustomFunctionProtocol) -> None:
        """Register a function that runs all actions of a kind; it gets the action and the step's context."""
        if computation_type not in _REPLACEABLE:
            raise ValueError(f"Invalid computation type {computation_type}. Only FORWARD, FULL_BACKWARD,                 "
                             "BACKWARD_INPUT, BACKWARD_WEIGHT, OVERLAP_F_B, UNSHARD, RESHARD and REDUCE_GRAD are supported.")
        if computation_type in self._comp_type_to_function_map:
            logger.warning("Computation type %s is already registered. Overwriting the existing custom function.",
                           computation_type)
        self._comp_type_to_function_map[computation_type] = custom_function

    def _prepare_schedule_with_comms(self, actions: Order, format: Format = "compute_only") -> None:
        """Set the order, and insert messages unless ``format`` says that it has them."""
        self._validate_and_set_stage_mapping(actions)
        if format == "compute_comms":
            if any(a is None for listed in actions.values() for a in listed):
                raise AssertionError(f"Expected action to be not None, got {type(None)}")
            self.pipeline_order_with_comms = {rank: [a for a in listed if a is not None] for rank, listed in actions.items()}
        elif format == "compute_only":
            _check_computed(actions)
            lowered = self._lowered(actions)
            self.pipeline_order_with_comms = _defer_recv_ops(lowered, self.stage_index_to_group_rank.__getitem__) \
                if self._defer_pp_recv else lowered
        else:
            raise NotImplementedError(f"{format=} is not implemented")

    def _load_csv(self, filename: str, format: Format = "compute_only") -> None:
        """Read the order from a CSV file, and insert messages unless it has them."""
        if format == "compute_only":
            super()._load_csv(filename)
            self._prepare_schedule_with_comms(self.pipeline_order)
        else:
            self._prepare_schedule_with_comms(_read(filename), format)

    def _dump_csv(self, filename: str, format: Format = "compute_comms") -> None:
        """Write the order as CSV, with or without messages."""
        _write(filename, self.pipeline_order if format == "compute_only" else self.pipeline_order_with_comms)

    def _simulate(self) -> dict[int, list[_Action | None]]:
        return _simulate_comms_compute(self.pipeline_order_with_comms, self.stage_index_to_group_rank.__getitem__,
                                       self._num_stages)


def _check_computed(actions: Order) -> None:
    for rank, listed in actions.items():
        for i, action in enumerate(listed):
            if action is not None and not action.is_compute_op:
                raise ValueError(f"Expected compute-only schedule but found communication action '{action}' at rank {rank}, "
                                 f"position {i}. Communication actions (e.g. SEND_F, RECV_F, etc.) should not be present when "
                                 "format='compute_only'.")
