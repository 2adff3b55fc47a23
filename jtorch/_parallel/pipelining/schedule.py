"""The common part of schedules: split a batch into microbatches, run them, and merge their results."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import Any

import jtorch.distributed as dist
from jtorch._parallel.pipelining.manual import PipelineStage
from jtorch._parallel.pipelining.metadata import InferenceMode
from jtorch._parallel.pipelining.microbatch import (
    TensorChunkSpec,
    _split_tensor,
    merge_chunks,
    split_args_kwargs_into_chunks,
)
from jtorch._parallel.pipelining.run import Run, _PipelineContext
from jtorch.no_grad import is_grad_enabled
from jtorch.random import fork_rng
from jtorch.tensor import Tensor


class _PipelineSchedule(ABC):
    """The base class of schedules.

    Args:
        n_microbatches: the number of microbatches.
        loss_fn: a function of a microbatch's output and target that returns the loss; without it only forwards run.
        args_chunk_spec, kwargs_chunk_spec: the dims along which inputs are split; the first, if None.
        output_merge_spec: how outputs are merged; along the first dim, if None.
        scale_grads: whether gradients are divided by the number of microbatches, as a loss that is a mean needs.

    """

    _listed: list[Any]      # This rank's stages.
    _backward_requires_autograd = True

    def __init__(self, n_microbatches: int, loss_fn: Callable[..., Tensor] | None = None,
                 args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
                 kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
                 output_merge_spec: dict[str, Any] | tuple[Any] | None = None, scale_grads: bool = True):
        self._n_microbatches, self._loss_fn, self.scale_grads = n_microbatches, loss_fn, scale_grads
        self._args_chunk_spec, self._kwargs_chunk_spec = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec = output_merge_spec
        self._has_backward = loss_fn is not None
        self._internal_losses: list[Tensor] = []
        self._forward_initialized = self._backward_initialized = False
        self.backward_counter: Counter[int] = Counter()                 # Counts each stage's backwards in this step.
        self.fwd_recv_ops: dict[tuple[int, int], list[Any]] = {}        # Maps a stage and a microbatch to the pending receives.
        self.bwd_recv_ops: dict[tuple[int, int], list[Any]] = {}

    # ------------------------------------------------------------ losses

    def _compute_loss(self, output: Any, target: Any, loss_kwargs: dict[str, Any] | None = None) -> Tensor:
        return self._loss_fn(output, target, **(loss_kwargs or {}))      # type: ignore[misc]

    def _maybe_compute_loss(self, stage: Any, output: Any, target_mbs: Any, mb_index: int,
                            loss_kwargs: dict[str, Any] | None = None) -> None:
        if stage.is_last and self._loss_fn is not None:
            self._internal_losses.append(self._compute_loss(output, target_mbs[mb_index], loss_kwargs))

    def _maybe_get_loss(self, stage: Any, mb_index: int) -> Tensor | None:
        there = 0 <= mb_index < len(self._internal_losses)
        if stage.is_last and self._loss_fn is not None and there:
            return self._internal_losses[mb_index]
        if self._internal_losses and not there:
            raise RuntimeError(f"Loss for microbatch {mb_index} is not available. Available losses for microbatches: "
                               f"{self._internal_losses}")
        return None

    def _update_losses(self, stages: Any, losses: list | None) -> None:
        """Copy the microbatches' losses into the user's list, on the rank that has them."""
        if losses is not None and any(stage.is_last for stage in (stages if isinstance(stages, list) else [stages])):
            if len(self._internal_losses) != self._n_microbatches:
                raise RuntimeError(f"Expecting {self._n_microbatches} losses but got {len(self._internal_losses)}")
            losses[:] = self._internal_losses
        self._internal_losses.clear()

    # ------------------------------------------------------------ before the first step

    def _initialize(self, args: tuple[Any, ...], kwargs: dict[str, Any], target: Any,
                    loss_kwargs: dict[str, Any] | None = None) -> bool:
        """Prepare the stages in the first step, and when steps with a backward follow steps without or the other way round.

        Return whether anything was done.
        """
        if self._forward_initialized and self._has_backward == self._backward_initialized:
            return False
        self._agree()
        told: Any = None
        with fork_rng(devices=[]):
            for stage in self._listed:
                told = stage._prepare_forward_infra(self._n_microbatches, args if stage.is_first else told, kwargs,
                                                    has_backward=self._has_backward)
            for stage in reversed(self._listed) if self._has_backward else ():
                stage._prepare_backward_infra(self._n_microbatches, loss_fn=self._loss_fn, target=target, loss_kwargs=loss_kwargs)
        self._forward_initialized, self._backward_initialized = True, self._has_backward
        return True

    def _agree(self) -> None:
        """Agree with the other ranks on whether metadata is inferred; all stages infer if one lacks metadata."""
        stages = [s for s in self._listed if isinstance(s, PipelineStage)]
        if len(stages) < len(self._listed):
            return      # Stages of a traced model have all metadata.
        told = [not any(InferenceMode.needs_dynamic(s._user_meta, self._has_backward) for s in stages)]
        if stages[0].group_size > 1:
            told = [told[0]] * stages[0].group_size
            dist.all_gather_object(told, told[0], stages[0].group)
        for stage in stages:
            stage._inference_mode = InferenceMode.STATIC if all(told) else InferenceMode.DYNAMIC

    # ------------------------------------------------------------ running a step

    @abstractmethod
    def _step_microbatches(self, arg_mbs: list | None = None, kwarg_mbs: list | None = None, target_mbs: list | None = None,
                           losses: list | None = None, return_outputs: bool = True,
                           loss_kwargs: dict[str, Any] | None = None) -> None:
        """Run a step of microbatches."""

    def _begin_step(self, arg_mbs: Any, kwarg_mbs: Any, target_mbs: Any, losses: Any, return_outputs: bool,
                    loss_kwargs: Any) -> Run:
        """Check the microbatches, prepare the stages, and return the step."""
        arg_mbs, kwarg_mbs = self._check_inputs(arg_mbs, kwarg_mbs, target_mbs, losses)
        self._initialize(arg_mbs[0], kwarg_mbs[0], None if target_mbs is None else target_mbs[0], loss_kwargs)
        self._internal_losses.clear()       # Drops the losses of a step that failed.
        return Run(self, _PipelineContext(self, arg_mbs, kwarg_mbs, target_mbs, losses), return_outputs, loss_kwargs)

    def step(self, *args: Any, target: Any = None, losses: list | None = None, return_outputs: bool = True,
             loss_kwargs: dict[str, Any] | None = None, **kwargs: Any) -> Any:
        """Run a batch: forward, and backward if there is a loss. Gradients accumulate in the parameters.

        Args:
            args: the first stage's inputs, on the rank that has the stage.
            target: the target of the loss, on the rank that has the last stage.
            losses: a list that gets the microbatches' losses on that rank.
            return_outputs: whether to return the last stage's outputs.
            loss_kwargs: further arguments of the loss.
            kwargs: arguments of this rank's stages, which are split like the inputs.

        Returns:
            The last stage's output for the whole batch, on the rank that has it; None on the others.

        Raises:
            RuntimeError: gradients are disabled, or a stage fails; PipeliningMetadataError if its values are no tensors.
            DistBackendError: another rank has ended, or sends an unexpected tensor.

        """
        if self._has_backward and self._backward_requires_autograd and not is_grad_enabled():
            raise RuntimeError("step() requires gradients to be enabled for backward computation; it should not be used under "
                               "torch.no_grad() context. Please call eval() instead.")
        for stage in self._listed:
            stage.has_backward = self._has_backward
            stage.clear_runtime_states()
        arg_mbs, kwarg_mbs = self._split_inputs(args, kwargs)
        targets = None if target is None else list(_split_tensor(target, TensorChunkSpec(0), self._n_microbatches))
        self._step_microbatches(arg_mbs, kwarg_mbs, targets, losses, return_outputs, loss_kwargs=loss_kwargs)
        last = [stage for stage in self._listed if stage.is_last]
        return self._merge_outputs(last[0].output_chunks) if last and return_outputs else None

    def eval(self, *args: Any, target: Any = None, losses: list | None = None, **kwargs: Any) -> Any:
        """Run a batch forward only. See ``step``."""
        before, self._has_backward = self._has_backward, False
        try:
            return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._has_backward = before

    def _check_inputs(self, arg_mbs: list | None = None, kwarg_mbs: list | None = None, target_mbs: list | None = None,
                      losses: list | None = None) -> tuple[list, list]:
        for name, mbs in (("arg_mbs", arg_mbs), ("kwarg_mbs", kwarg_mbs), ("target_mbs", target_mbs)):
            if mbs is not None and not isinstance(mbs, list):
                raise TypeError(f"{name} must be a list but got a {type(mbs)}")
            if mbs is not None and len(mbs) != self._n_microbatches:
                raise ValueError(f"Expecting {self._n_microbatches} {name} but got {len(mbs)}")
        if losses is not None and not isinstance(losses, list):
            raise TypeError(f"losses must be a list but got a {type(losses)}")
        return ([()] * self._n_microbatches if arg_mbs is None else arg_mbs,
                [{}] * self._n_microbatches if kwarg_mbs is None else kwarg_mbs)

    def _split_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> tuple[list, list]:
        if not args and not kwargs:
            return [()] * self._n_microbatches, [{}] * self._n_microbatches
        return split_args_kwargs_into_chunks(args, kwargs, self._n_microbatches, self._args_chunk_spec, self._kwargs_chunk_spec)

    def _merge_outputs(self, output_chunks: list[Any]) -> Any:
        return merge_chunks(output_chunks, self._output_merge_spec)
