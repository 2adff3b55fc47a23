"""Stages of a model that the user has split, whose tensor metadata is given or inferred in the first step."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jtorch.distributed as dist
from jtorch._parallel.pipelining.data_parallel import run_forward
from jtorch._parallel.pipelining.metadata import (
    InferenceMode,
    Metas,
    PipeliningMetadataError,
    _derive_grad_metas,
    _make_tensor_from_meta,
    _StageForwardMeta,
    _StageMeta,
    extract_tensor_metas,
    validate_and_normalize_to_tuple,
    validate_tensors_metadata,
)
from jtorch._parallel.pipelining.stage import _PipelineStageBase
from jtorch._parallel.pipelining.transfers import _RecvInfo
from jtorch.no_grad import no_grad, set_grad_enabled
from jtorch.tensor import Tensor


@contextmanager
def buffers_kept(module: Any) -> Iterator[None]:
    """Restore a module's buffers after a block."""
    with no_grad():
        before = [(b, b.clone()) for b in module.buffers()]
    try:
        yield
    finally:
        with no_grad():
            for b, was in before:
                b.copy_(was)


class PipelineStage(_PipelineStageBase):
    """A part of a model that one rank runs. See torch.distributed.pipelining.PipelineStage.

    Unless all stages have ``input_args`` and ``output_args``, the modules run once before the first step, to infer the
    metadata of their tensors. This run does not change buffers.

    Args:
        submodule: the part of the model.
        stage_index, num_stages: the index of the stage, and the number of stages.
        device: the device on which tensors are received.
        input_args, output_args: example tensors with the shape, dtype and ``requires_grad`` of a microbatch's.
        output_grads, input_grads: example tensors of their gradients, if these differ.
        group: the ranks of the pipeline; all, if None.
        dw_builder: a function that returns, after each backward, a function that computes the parameters' gradients.
        get_mesh: accepted, as DTensors between stages are not built.

    Raises:
        ValueError: an index outside the stages.
        RuntimeError: more ranks than stages.
        PipeliningMetadataError: an example that is no tensor.

    >>> stage = PipelineStage(layers, rank, ranks, torch.device("cpu"))                     # doctest: +SKIP
    >>> ScheduleGPipe(stage, 4, loss_fn=loss).step(x, target=y)                             # doctest: +SKIP

    """

    def __init__(self, submodule: Any, stage_index: int, num_stages: int, device: Any, input_args: Any = None,
                 output_args: Any = None, output_grads: Any = None, input_grads: Any = None, group: Any = None,
                 dw_builder: Callable[[], Callable[..., None]] | None = None, get_mesh: Any = None):
        super().__init__(submodule, stage_index, num_stages, device, group, dw_builder)
        self._inference_mode: InferenceMode | None = None
        self._user_meta = _StageMeta(
            *[extract_tensor_metas(validate_and_normalize_to_tuple(given)) for given in (input_args, output_args)],
            *[extract_tensor_metas(validate_and_normalize_to_tuple(given, allow_none=True), allow_none=True)
              for given in (input_grads, output_grads)])

    # ------------------------------------------------------------ before the first step

    def _prepare_forward_infra(self, num_microbatches: int, args: Any, kwargs: dict[str, Any] | None = None,
                               has_backward: bool = False) -> _StageForwardMeta | None:
        """Prepare the receive buffers; return the metadata for the next stage if it is on this rank."""
        if self._inference_mode is None:
            raise PipeliningMetadataError(f"Stage {self.stage_index}: inference mode not set. Run warmup vote protocol first.")
        told = None
        if self._inference_mode is InferenceMode.DYNAMIC:
            told = self._forward_metadata_inference(args, kwargs, has_backward)
            self._compare("input", self._user_meta.inputs, self._stage_meta.inputs)
            self._compare("output", self._user_meta.outputs, self._stage_meta.outputs)
        else:
            self._stage_meta.inputs, self._stage_meta.outputs = self._user_meta.inputs, self._user_meta.outputs
        inputs, outputs = self._stage_meta.inputs or (), self._stage_meta.outputs or ()
        self.args_recv_info = {i: self._places(inputs) for i in range(num_microbatches)}
        self.act_send_info = {i: [] if self.is_last else [self.stage_index + 1] for i in range(len(outputs))}
        return told

    def _places(self, metas: Metas) -> tuple[_RecvInfo, ...]:
        """Return the source of each of one microbatch's inputs, with a receive buffer if it is another stage."""
        if self.is_first:
            return tuple([_RecvInfo(f"root_input_{i}", None, None, m, is_root_arg=True) for i, m in enumerate(metas)])
        before = self.stage_index - 1
        return tuple([_RecvInfo(f"recv_for_{self.stage_index}_from_{before}", before, _place(m, self.device), m) for m in metas])

    def _compare(self, what: str, told: Metas | None, found: Metas | None) -> None:
        """Warn if the given metadata differs from the inferred."""
        if told and found:
            validate_tensors_metadata(f"Stage {self.stage_index} {what}", told, found, warn_on_mismatch=True)

    def _is_same_rank(self, other_stage: int) -> bool:
        return self.stage_index_to_group_rank[other_stage] == self.group_rank

    def _forward_metadata_inference(self, args: Any, kwargs: dict[str, Any] | None,
                                    has_backward: bool) -> _StageForwardMeta | None:
        """Infer the metadata of the outputs by running the module."""
        given = self._first_inputs(args)
        self._stage_meta.inputs = extract_tensor_metas(given)
        outputs = validate_and_normalize_to_tuple(self._run_module(given, kwargs or {}, has_backward))
        self._stage_meta.outputs = extract_tensor_metas(outputs)
        if self._stage_meta.outputs is None:
            raise PipeliningMetadataError(f"Stage {self.stage_index}: output metadata is required for forward inference.")
        told = _StageForwardMeta(self._stage_meta.outputs)
        if self.is_last or self._is_same_rank(self.stage_index + 1):
            return told
        dist.send_object_list([told], self._resolve_peer_global_rank(self.stage_index + 1), self.group)
        return None

    def _first_inputs(self, args: Any) -> tuple[Tensor, ...]:
        """Return the user's inputs, or example tensors for the outputs of the previous stage."""
        if self.is_first:
            if args is None or isinstance(args, _StageForwardMeta):
                raise PipeliningMetadataError(f"Stage {self.stage_index}: First stage requires real tensors, got "
                                              f"{type(args).__name__}.")
            return tuple([a.detach().requires_grad_(a.requires_grad) for a in validate_and_normalize_to_tuple(args) or ()])
        if not self._is_same_rank(self.stage_index - 1):
            objects: list[Any] = [None]
            dist.recv_object_list(objects, self._resolve_peer_global_rank(self.stage_index - 1), self.group)
            args = objects[0]
        if not isinstance(args, _StageForwardMeta):
            raise PipeliningMetadataError(f"Stage {self.stage_index}: Expected _StageForwardMeta from the previous stage, got "
                                          f"{type(args).__name__}.")
        return tuple([m.to_tensor(self.device) for m in args.forward_metas if m is not None])

    def _run_module(self, args: tuple[Tensor, ...], kwargs: dict[str, Any], has_backward: bool) -> Any:
        """Run the module and return its outputs; its buffers stay unchanged."""
        given = {k: v.detach() if isinstance(v, Tensor) else v for k, v in kwargs.items()}
        with buffers_kept(self.submod), set_grad_enabled(has_backward):
            return run_forward(self.submod, args, given)

    def _prepare_backward_infra(self, num_microbatches: int, loss_fn: Callable | None = None, target: Any = None,
                                received_grad_meta: Any = None, loss_kwargs: dict[str, Any] | None = None) -> None:
        if self.is_last and self._inference_mode is InferenceMode.DYNAMIC and (loss_fn is None or target is None):
            raise PipeliningMetadataError(f"Stage {self.stage_index}: loss_fn and target required for last stage")
        for name, of in (("input_grads", self._stage_meta.inputs), ("output_grads", self._stage_meta.outputs)):
            found, told = _derive_grad_metas(of or ()), getattr(self._user_meta, name)
            if self._inference_mode is InferenceMode.DYNAMIC:
                self._compare(name.removesuffix("s"), told, found)
                told = None
            setattr(self._stage_meta, name, found if told is None else told)
        self._setup_backward_recv_info(num_microbatches)

    def _create_grad_recv_info(self, act_send_info: dict) -> tuple[_RecvInfo, ...]:
        if self.is_last:
            return ()
        metas = self._stage_meta.output_grads or ()
        return tuple([_RecvInfo(f"recv_grad_for_{self.stage_index}_from_{to[0]}", to[0], _place(metas[i], self.device), metas[i])
                      for i, to in act_send_info.items()])


def _place(meta: Any, device: Any) -> Tensor | None:
    """Return a buffer in which a tensor with this metadata is received."""
    return None if meta is None else _make_tensor_from_meta(meta, device)
