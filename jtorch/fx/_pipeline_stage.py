"""Stages of a traced model, whose graph gives the metadata of tensors and their destinations."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from jtorch._parallel.pipelining.metadata import (
    PipeInfo,
    PipeliningMetadataError,
    _derive_grad_metas,
    _make_tensor_from_meta,
    _TensorMeta,
)
from jtorch._parallel.pipelining.stage import _PipelineStageBase
from jtorch._parallel.pipelining.transfers import _RecvInfo
from jtorch.fx.node import Node


class _PipelineStage(_PipelineStageBase):
    """A stage of a traced model. See ``build_stage``."""

    def __init__(self, stage_module: Any, stage_index: int, pipe_info: PipeInfo, device: Any, group: Any = None):
        super().__init__(stage_module, stage_index, pipe_info.num_stages, device, group)
        calls = [node for node in pipe_info.graph.nodes if node.op == "call_module"]
        if len(calls) != self.num_stages:
            raise PipeliningMetadataError(f"Number of submodules in pipe graph {len(calls)} does not match number of stages "
                                          f"{self.num_stages}")
        self.pipe_info, self.node, self.name = pipe_info, calls[stage_index], calls[stage_index].name
        self.submod_to_stage_index = {node.name: i for i, node in enumerate(calls)}
        if not any(p.is_meta for p in stage_module.parameters()):
            stage_module.to(device)

    def get_stage_index_of_submod(self, submod_name: str) -> int:
        """Return the stage of a module of the graph; PipeliningMetadataError if the module is no stage."""
        if submod_name not in self.submod_to_stage_index:
            raise PipeliningMetadataError(f"Stage id of {submod_name} not found")
        return self.submod_to_stage_index[submod_name]

    def _meta(self, value: Any) -> _TensorMeta:
        """Return the metadata of a value that passes between stages."""
        return _TensorMeta(value.shape, value.stride(), value.dtype, self.has_backward and value.is_floating_point())

    # ------------------------------------------------------------ before the first step

    def _prepare_forward_infra(self, num_microbatches: int, args: Any, kwargs: dict[str, Any] | None = None,
                               has_backward: bool = False) -> None:
        self.args_recv_info = {i: self._places() for i in range(num_microbatches)}
        infos = self.args_recv_info[0]
        self._stage_meta.inputs = tuple([i.tensor_meta for i in (infos[:len(args)] if self.is_first else self._received(0))])
        self._stage_meta.outputs = tuple([self._meta(value) for value in self.submod.meta["outputs"]])
        self._stage_meta.input_grads = _derive_grad_metas(self._stage_meta.inputs)
        self.act_send_info = self._targets()

    def _places(self) -> tuple[_RecvInfo, ...]:
        """Return the source of each of one microbatch's inputs: the user, or another stage with a receive buffer."""
        made = []
        for source, value in zip(self.node.args, self.submod.meta["inputs"], strict=True):
            if source.op == "placeholder":
                meta = _TensorMeta(value.shape, value.stride(), value.dtype, False)
                made.append(_RecvInfo(f"root_input_{source.name}", None, None, meta, is_root_arg=True))
            else:
                call = source.args[0] if source.target is operator.getitem else source
                meta = self._meta(value)
                made.append(_RecvInfo(call.name, self.get_stage_index_of_submod(call.name),
                                      _make_tensor_from_meta(meta, self.device), meta))
        return tuple(made)

    def _targets(self) -> dict[int, list[int]]:
        """Map each output to the stages that take it."""
        def of(node: Node) -> list[int]:
            return [self.get_stage_index_of_submod(user.name) for user in node.users if user.op == "call_module"]
        parts = {user.args[1]: user for user in self.node.users if user.target is operator.getitem}
        if len(self.submod.meta["outputs"]) == 1:
            return {0: of(self.node)}
        return {i: of(parts[i]) if i in parts else [] for i in range(len(self.submod.meta["outputs"]))}

    def _prepare_backward_infra(self, num_microbatches: int, loss_fn: Callable | None = None, target: Any = None,
                                received_grad_meta: Any = None, loss_kwargs: dict[str, Any] | None = None) -> None:
        self._setup_backward_recv_info(num_microbatches)
        self._stage_meta.output_grads = tuple([info.tensor_meta for info in self.grad_recv_info[0]])

    def _create_grad_recv_info(self, act_send_info: dict) -> tuple[_RecvInfo, ...]:
        made = []
        for i, meta in enumerate(_derive_grad_metas(self._stage_meta.outputs or ())):
            to = act_send_info.get(i, [])
            if meta is None or not to:
                made.append(_RecvInfo(f"recv_grad_for_{self.stage_index}_none_{i}", None, None, None))
                continue
            if len(to) != 1:
                raise PipeliningMetadataError("Backward of skip connections not supported yet")
            made.append(_RecvInfo(f"recv_grad_for_{self.stage_index}_from_{to[0]}", to[0],
                                  _make_tensor_from_meta(meta, self.device), meta))
        return tuple(made)


def build_stage(stage_module: Any, stage_index: int, pipe_info: PipeInfo, device: Any, group: Any = None) -> _PipelineStage:
    """Return a stage of a traced model for a schedule to run. See torch.distributed.pipelining.build_stage.

    Args:
        stage_module: the result of ``Pipe.get_stage_module``.
        stage_index: the index of the stage.
        pipe_info: the result of ``Pipe.info``.
        device: the device of the stage.
        group: the ranks of the pipeline; all, if None.

    Returns:
        The stage.

    Raises:
        PipeliningMetadataError: the graph has another number of stages.

    """
    return _PipelineStage(stage_module, stage_index, pipe_info, device, group)
