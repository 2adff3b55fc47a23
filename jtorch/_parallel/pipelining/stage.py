"""A stage: a part of a model that one rank runs on one microbatch at a time."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import jtorch.distributed as dist
from jtorch._parallel.pipelining.backward import stage_backward, stage_backward_input, stage_backward_weight
from jtorch._parallel.pipelining.data_parallel import reduce_gradients, run_backward, run_forward
from jtorch._parallel.pipelining.metadata import (
    Metas,
    PipeliningMetadataError,
    described,
    flatten_args,
    output_tuple,
    validate_tensors_metadata,
)
from jtorch._parallel.pipelining.transfers import _RecvInfo, _Transfers
from jtorch.tensor import Tensor


class _PipelineStageBase(_Transfers, ABC):
    """The base class of ``PipelineStage`` and of stages of a traced model.

    Args:
        submodule: the part of the model.
        stage_index, num_stages: the index of the stage, and the number of stages.
        device: the device on which tensors are received.
        group: the ranks of the pipeline; all, if None.
        dw_builder: a function that returns, after each backward, a function that computes the parameters' gradients; for
            modules whose own backward omits these.

    Raises:
        ValueError: an index outside the stages.
        RuntimeError: more ranks than stages.

    """

    def __init__(self, submodule: Any, stage_index: int, num_stages: int, device: Any, group: Any = None,
                 dw_builder: Callable[[], Callable[..., None]] | None = None):
        super().__init__()
        if stage_index >= num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device, self.group, self.dw_builder = device, group, dw_builder
        self.group_rank, self.group_size = dist.get_rank(group), dist.get_world_size(group)
        if self.group_size > num_stages:
            raise RuntimeError(f"Pipeline group size {self.group_size} cannot be larger than number of stages {num_stages}")
        # Maps microbatches whose weight gradients are pending to their backward state.
        self.backward_state: dict[int, tuple] = {}
        self.dw_runner: dict[int, Callable[..., None]] = {}
        self.output_chunks: list[Any] = []
        self.has_backward = False
        self.log_prefix = f"[Stage {stage_index}]"
        self.stage_index_to_group_rank = {i: i % self.group_size for i in range(num_stages)}
        self._runtime_validate = dist.get_debug_level() is dist.DebugLevel.DETAIL

    @abstractmethod
    def _prepare_forward_infra(self, num_microbatches: int, args: Any, kwargs: dict[str, Any] | None = None,
                               has_backward: bool = False) -> Any:
        """Prepare the receive buffers, before the first step."""

    @abstractmethod
    def _prepare_backward_infra(self, num_microbatches: int, loss_fn: Callable | None = None, target: Any = None,
                                received_grad_meta: Any = None, loss_kwargs: dict[str, Any] | None = None) -> Any:
        """Prepare the receive buffers of gradients, before the first step with a backward."""

    @abstractmethod
    def _create_grad_recv_info(self, act_send_info: dict) -> tuple[_RecvInfo, ...]:
        """Return the receive buffers for the gradients of one microbatch's outputs."""

    def _setup_backward_recv_info(self, num_microbatches: int) -> None:
        self.chunks = num_microbatches
        self.grad_recv_info = {i: self._create_grad_recv_info(self.act_send_info) for i in range(num_microbatches)}

    def _validate(self, what: str, expected: Metas | None, actual: tuple) -> None:
        """Compare tensors with expected metadata, if TORCH_DISTRIBUTED_DEBUG=DETAIL."""
        if self._runtime_validate:
            if expected is None:
                raise PipeliningMetadataError(f"Stage {self.stage_index} {what}: no metadata available")
            validate_tensors_metadata(f"Stage {self.stage_index} {what}", expected, actual)

    def clear_runtime_states(self) -> None:
        """Drop the microbatches of the last step."""
        self.fwd_cache.clear()
        self.output_chunks.clear()

    # ------------------------------------------------------------ forward

    def forward_maybe_with_nosync(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module's forward."""
        return run_forward(self.submod, args, kwargs)

    def forward_one_chunk(self, fwd_chunk_id: int, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
                          save_forward_output: bool = True) -> Any:
        """Run a microbatch's forward on the user's inputs, in the first stage, or on received tensors.

        Raises:
            RuntimeError: the module's forward fails; the message describes its inputs.

        """
        given = args if self.is_first else self._retrieve_recv_activations(fwd_chunk_id)
        named = kwargs or {}
        self._validate("forward inputs", self._stage_meta.inputs, given)
        try:
            output = self.forward_maybe_with_nosync(*given, **named)
        except Exception as error:
            raise RuntimeError(f"\n            {self.log_prefix} failed to run forward:\n            args: {described(given)}\n"
                               f"            kwargs: {described(named)}\n            ") from error
        outputs = output_tuple(output)
        if self.is_last and save_forward_output:
            self.output_chunks.append(output)
        self.fwd_cache[fwd_chunk_id] = (outputs, flatten_args(given) + flatten_args(named))
        if not self.is_last:
            self._validate("forward outputs", self._stage_meta.outputs, outputs)
        return output

    # ------------------------------------------------------------ backward

    def backward_one_chunk(self, bwd_chunk_id: int, loss: Any = None, full_backward: bool = True,
                           last_backward: bool = False) -> None:
        """Run a microbatch's backward, from the loss in the last stage, or from received gradients. Call it once for each
        microbatch.

        Without ``full_backward`` the parameters' gradients are left to ``backward_weight_one_chunk``. DDP averages gradients
        after a step's ``last_backward``.
        """
        if not self.has_backward:
            return
        self._check_chunk_id(bwd_chunk_id)
        outputs, inputs = self.fwd_cache.pop(bwd_chunk_id)
        grads = None if self.is_last else self._retrieve_recv_grads(bwd_chunk_id)
        if grads is not None:
            self._validate("backward input (output_grads)", self._stage_meta.output_grads, grads)
        found = self._backward(bwd_chunk_id, loss if self.is_last else outputs, grads, inputs, full_backward, last_backward)
        found = found[:len(self._stage_meta.inputs or ())]      # Gradients of keyword arguments stay in this stage.
        if not self.is_first:
            self._validate("backward output (input_grads)", self._stage_meta.input_grads, found)
        self.bwd_cache[bwd_chunk_id] = found
        if self.is_last and not self.is_first:
            for t in outputs:
                if isinstance(t, Tensor) and not t._is_view():
                    t.detach_()     # The user gets the tensor, which needs no history.

    def _backward(self, i: int, outputs: Any, grads: Any, inputs: list, full: bool, last: bool) -> tuple[Tensor | None, ...]:
        """Return the gradients of a microbatch's inputs, and keep the state of pending weight gradients."""
        whole = partial(stage_backward, outputs, grads, inputs)
        if self.dw_builder is not None:
            found = run_backward(self.submod, whole, last)
            if full:
                self.dw_builder()()
            else:
                self.dw_runner[i] = self.dw_builder()
            return found
        if full:
            return run_backward(self.submod, whole, last)
        found, groups = (), None
        if not self.is_first:       # The gradients of the user's inputs are not needed.
            outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
            found, groups = run_backward(self.submod, partial(stage_backward_input, outputs, grads, inputs,
                                                              self.submod.parameters()), last)
        self.backward_state[i] = (inputs, groups, outputs, grads)
        self.dw_runner[i] = lambda: None
        return found

    def backward_weight_one_chunk(self, bwd_chunk_id: int, last_backward: bool = False) -> None:
        """Compute the weight gradients that ``backward_one_chunk(full_backward=False)`` left out.

        AssertionError if it has not run for this microbatch.
        """
        if not self.has_backward:
            return
        if bwd_chunk_id not in self.dw_runner:
            raise AssertionError(f"{self.log_prefix} Attempted to run backward_weight_one_chunk for chunk {bwd_chunk_id} without "
                                 "first calling `backward_one_chunk(full_backward=False)`")
        runner = self.dw_runner.pop(bwd_chunk_id)
        if self.dw_builder is not None:
            runner()
            return
        inputs, groups, outputs, grads = self.backward_state.pop(bwd_chunk_id)
        left = (partial(stage_backward, outputs, grads, inputs) if groups is None
                else partial(stage_backward_weight, self.submod.parameters(), groups))
        run_backward(self.submod, left, last_backward)

    def scale_grads(self, grad_scale_factor: int) -> None:
        """Divide the parameters' gradients by a factor: the number of microbatches if the loss is a mean, else 1."""
        if grad_scale_factor != 1:
            for p in self.submod.parameters():
                if p.grad is not None:
                    p.grad.div_(grad_scale_factor)

    def perform_reduce_grad(self, grad_scale_factor: int) -> None:
        """Reduce the gradients over ranks and divide them, after a step's last backward."""
        reduce_gradients(self.submod)
        self.scale_grads(grad_scale_factor)
