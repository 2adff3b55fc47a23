"""The tensors that a stage sends and receives: activations to the next stage, gradients to the previous one."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jtorch.distributed as dist
from jtorch._parallel.pipelining.metadata import (
    Metas,
    PipeliningMetadataError,
    _derive_grad_metas,
    _make_tensor_from_meta,
    _StageMeta,
    _TensorMeta,
    output_tuple,
)
from jtorch.no_grad import is_grad_enabled
from jtorch.tensor import Tensor


class _RecvInfo:
    """The source of an input: another stage, whose tensor is received into ``buffer``, or the user ("root")."""

    def __init__(self, input_name: str, source: int | None, buffer: Tensor | None, tensor_meta: _TensorMeta | None, *,
                 is_root_arg: bool = False):
        self.input_name, self.source, self.buffer, self.tensor_meta = input_name, source, buffer, tensor_meta
        self.is_root_arg = is_root_arg

    def __repr__(self) -> str:
        if self.is_root_arg:
            return f"_RecvInfo(input={self.input_name}, root_arg=True)"
        kind = "None" if self.tensor_meta is None else type(self.tensor_meta).__name__
        shape = "None" if self.buffer is None else self.buffer.size()
        return f"_RecvInfo(input={self.input_name}, source={self.source}, shape={shape}, meta={kind})"


class _Transfers:
    """A stage's exchange with its neighbours. Each microbatch has its own buffers, which all steps reuse."""

    stage_index: int
    num_stages: int
    group: Any
    device: Any
    has_backward: bool
    stage_index_to_group_rank: dict[int, int]

    def __init__(self) -> None:
        self.chunks: int | None = None      # The number of microbatches.
        self.args_recv_info: dict[int, tuple[_RecvInfo, ...]] = {}
        self.grad_recv_info: dict[int, tuple[_RecvInfo, ...]] = {}
        self.act_send_info: dict[int, list] = {}        # Maps each output to the stages that receive it.
        self.fwd_cache: dict[int, tuple[tuple, list]] = {}      # Maps each microbatch to its outputs and inputs.
        self.bwd_cache: dict[int, tuple[Tensor | None, ...]] = {}   # Maps each microbatch to the gradients of its inputs.
        self._stage_meta = _StageMeta()

    @property
    def is_first(self) -> bool:
        """Whether the stage gets the user's inputs."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether the stage computes the loss."""
        return self.stage_index == self.num_stages - 1

    def _check_chunk_id(self, chunk_id: int) -> None:
        if self.chunks is None:
            raise RuntimeError("Attempted to access chunk_id before chunks have been configured.")
        if chunk_id >= self.chunks:
            raise RuntimeError(f"Chunk id {chunk_id} is out of range [0, {self.chunks})")

    def _received(self, i: int) -> list[_RecvInfo]:
        """Return the inputs of a microbatch that come from other stages."""
        return [info for info in self.args_recv_info[i] if not info.is_root_arg]

    # ------------------------------------------------------------ messages

    def _resolve_peer_global_rank(self, stage_idx: int) -> int:
        """Return the rank that runs a stage."""
        return dist.get_global_rank(self.group or dist._get_default_group(), self.stage_index_to_group_rank[stage_idx])

    def _sends(self, tensor: Tensor, stage: int) -> dist.P2POp:
        return dist.P2POp(dist.isend, tensor, self._resolve_peer_global_rank(stage), self.group)

    def _get_recv_ops(self, recv_infos: Sequence[_RecvInfo]) -> list[dist.P2POp]:
        return [dist.P2POp(dist.irecv, info.buffer, self._resolve_peer_global_rank(info.source), self.group)
                for info in recv_infos if info.buffer is not None and info.source is not None]

    def get_fwd_recv_ops(self, fwd_chunk_id: int) -> list[dist.P2POp]:
        """Return the receives of a microbatch's inputs."""
        return self._get_recv_ops(self.args_recv_info[fwd_chunk_id])

    def get_bwd_recv_ops(self, bwd_chunk_id: int) -> list[dist.P2POp]:
        """Return the receives of the gradients of a microbatch's outputs."""
        return self._get_recv_ops(self.grad_recv_info[bwd_chunk_id]) if self.has_backward and not self.is_last else []

    def get_fwd_send_ops(self, fwd_chunk_id: int) -> list[dist.P2POp]:
        """Return the sends of a microbatch's outputs."""
        return [self._sends(out.detach(), stage) for i, out in enumerate(self.fwd_cache[fwd_chunk_id][0])
                for stage in self.act_send_info[i] if stage is not None]

    def get_bwd_send_ops(self, bwd_chunk_id: int) -> list[dist.P2POp]:
        """Return the sends of the gradients of a microbatch's inputs, with zeros for expected gradients that are None."""
        if not self.has_backward or self.is_first:
            return []
        self._check_chunk_id(bwd_chunk_id)
        made = []
        for i, (grad, info) in enumerate(zip(self.bwd_cache.pop(bwd_chunk_id), self._received(0), strict=True)):
            meta = self._grad_meta(i)
            if meta is None and grad is not None:
                raise PipeliningMetadataError(f"[{self.stage_index}] for chunk {bwd_chunk_id} has gradient {grad} but no "
                                              "stage to send it to")
            if meta is not None and info.source is not None:
                grad = _make_tensor_from_meta(meta, self.device).zero_() if grad is None else grad    # type: ignore[attr-defined]
                made.append(self._sends(grad, info.source))
        return made

    def _grad_meta(self, i: int) -> _TensorMeta | None:
        """Return the metadata of an input's gradient that the previous stage expects."""
        known: Metas = self._stage_meta.input_grads or _derive_grad_metas(self._stage_meta.inputs or ())
        return known[i]

    # ------------------------------------------------------------ transfers within a rank
    #
    # If two consecutive stages are on the same rank, as at the turn of a V, tensors are handed over without a message.

    def set_local_fwd_input(self, prev_stage_outputs: Any, mb_index: int) -> None:
        """Set a microbatch's inputs to another stage's outputs."""
        for info, tensor in zip(self._received(mb_index), output_tuple(prev_stage_outputs), strict=True):
            if not isinstance(tensor, Tensor):
                raise AssertionError(f"expected tensor values as outputs from prev stage, got {type(tensor)}")
            info.buffer = tensor.detach()

    def get_local_bwd_output(self, mb_index: int) -> tuple[Tensor | None, ...]:
        """Return the gradients of a microbatch's inputs."""
        if not self.has_backward:
            raise AssertionError("can't steal_bwd_input if this stage doesn't have backward")
        if self.is_first:
            raise AssertionError("can't get bwd output if this stage is first")
        self._check_chunk_id(mb_index)
        return self.bwd_cache.pop(mb_index)

    def set_local_bwd_input(self, next_stage_bwd_outputs: tuple[Tensor | None, ...], mb_index: int) -> None:
        """Set the gradients of a microbatch's outputs to those of another stage's inputs."""
        if not isinstance(next_stage_bwd_outputs, tuple):
            raise AssertionError(f"Expected tuple, got {type(next_stage_bwd_outputs)}")
        if not self.has_backward:
            raise AssertionError("can't set bwd input if this stage doesn't have backward")
        if self.is_last:
            raise AssertionError("can't set bwd input if this stage is last")
        for info, tensor in zip(self.grad_recv_info[mb_index], next_stage_bwd_outputs, strict=True):
            if tensor is not None:
                info.buffer = tensor
            elif info.buffer is not None:
                info.buffer = info.buffer.zero_()       # type: ignore[attr-defined]

    # ------------------------------------------------------------ received tensors

    def _retrieve_recv_activations(self, fwd_chunk_id: int) -> tuple[Tensor, ...]:
        """Return a microbatch's inputs as leaves, at which its backward ends."""
        made = []
        for info in self._received(fwd_chunk_id):
            if info.buffer is None or info.tensor_meta is None:
                raise PipeliningMetadataError(f"Non-root arg '{info.input_name}' has None buffer or tensor_meta")
            wanted = info.tensor_meta.requires_grad and self.has_backward and is_grad_enabled()
            made.append(info.buffer.detach().requires_grad_(wanted))
        return tuple(made)

    def _retrieve_recv_grads(self, bwd_chunk_id: int) -> tuple[Tensor | None, ...]:
        """Return the gradients of a microbatch's outputs, with None for outputs that have none."""
        return tuple([info.buffer for info in self.grad_recv_info[bwd_chunk_id]])
