"""Collectives with gradients. See torch.distributed.nn.functional.

Each returns new tensors, and the backward of each is another collective. So all ranks must run backward together.
"""
from __future__ import annotations

from typing import Any

import jtorch.distributed as dist
from jtorch._api.functions import stack, zeros_like
from jtorch.autograd.function import Function
from jtorch.distributed import ReduceOp
from jtorch.tensor import Tensor


def _copied(tensor: Tensor) -> Tensor:
    """Return a contiguous copy for a collective to write to."""
    return tensor.detach().clone().contiguous()


class _Broadcast(Function):
    @staticmethod
    def forward(ctx, tensor, src, group):
        ctx.kept = src, group
        made = _copied(tensor)
        dist.broadcast(made, src, group)
        return made

    @staticmethod
    def backward(ctx, g):
        src, group = ctx.kept
        made = _Reduce.apply(g, src, ReduceOp.SUM, group)
        return (made if dist.get_rank() == src else zeros_like(made)), None, None


class _Reduce(Function):
    @staticmethod
    def forward(ctx, tensor, dst, op, group):
        ctx.kept = dst, group
        made = _copied(tensor)
        dist.reduce(made, dst, op, group)
        return made

    @staticmethod
    def backward(ctx, g):
        return _Broadcast.apply(g, *ctx.kept), None, None, None


class _AllReduce(Function):
    @staticmethod
    def forward(ctx, tensor, op, group):
        ctx.kept = op, group
        made = _copied(tensor)
        dist.all_reduce(made, op, group)
        return made

    @staticmethod
    def backward(ctx, g):
        return _AllReduce.apply(g, *ctx.kept), None, None


class _Gather(Function):
    @staticmethod
    def forward(ctx, tensor, dst, group):
        ctx.kept = dst, group
        rows = [zeros_like(tensor) for _ in range(dist.get_world_size(group))]
        dist.gather(tensor.detach().contiguous(), rows if dist.get_rank() == dst else None, dst, group)
        return tuple(rows)

    @staticmethod
    def backward(ctx, *grads):
        return _Scatter.apply(*ctx.kept, *grads), None, None


class _Scatter(Function):
    @staticmethod
    def forward(ctx, src, group, *tensors):
        ctx.kept = src, group
        made = zeros_like(tensors[0])
        dist.scatter(made, [t.detach().contiguous() for t in tensors] if dist.get_rank() == src else None, src, group)
        return made

    @staticmethod
    def backward(ctx, g):
        return None, None, *_Gather.apply(g, *ctx.kept)


class _AllGather(Function):
    @staticmethod
    def forward(ctx, tensor, group):
        ctx.group = group
        rows = [zeros_like(tensor) for _ in range(dist.get_world_size(group))]
        dist.all_gather(rows, tensor.detach().contiguous(), group)
        return tuple(rows)

    @staticmethod
    def backward(ctx, *grads):
        return _ReduceScatter.apply(ReduceOp.SUM, ctx.group, *grads), None


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx, op, group, *tensors):
        ctx.group = group
        made = zeros_like(tensors[dist.get_rank(group)])
        dist.reduce_scatter(made, [t.detach().contiguous() for t in tensors], op, group)
        return made

    @staticmethod
    def backward(ctx, g):
        return None, None, *_AllGather.apply(g, ctx.group)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx, shapes, group, *tensors):
        ctx.kept = [tuple(t.shape) for t in tensors], group
        made = [tensors[0].new_zeros(shape) for shape in shapes]
        dist.all_to_all(made, [t.detach().contiguous() for t in tensors], group)
        return tuple(made)

    @staticmethod
    def backward(ctx, *grads):
        return None, None, *_AllToAll.apply(*ctx.kept, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx, tensor, shape, taken, sent, group):
        ctx.kept = tuple(tensor.shape), sent, taken, group
        made = tensor.new_zeros(shape)
        dist.all_to_all_single(made, tensor.detach().contiguous(), taken, sent, group)
        return made

    @staticmethod
    def backward(ctx, g):
        return _AllToAllSingle.apply(g, *ctx.kept), None, None, None, None


# ---------------------------------------------------------------- public functions

def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Return the tensor of rank ``src``. See torch.distributed.nn.functional.broadcast."""
    return _Broadcast.apply(tensor, src, group)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction over all ranks, on rank ``dst``. See torch.distributed.nn.functional.reduce."""
    return _Reduce.apply(tensor, dst, op, group)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction over all ranks. See torch.distributed.nn.functional.all_reduce."""
    return _AllReduce.apply(tensor, op, group)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """Return the tensors of all ranks on rank ``dst``, and zeros on the others. See torch.distributed.nn.functional.gather."""
    return _Gather.apply(tensor, dst, group)


def scatter(tensors: list[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Return this rank's tensor of rank ``src``'s list. See torch.distributed.nn.functional.scatter."""
    return _Scatter.apply(src, group, *tensors)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Return the tensors of all ranks. See torch.distributed.nn.functional.all_gather."""
    return _AllGather.apply(tensor, group)


def _all_gather_base(output_tensor: Tensor, input_tensor: Tensor, group: Any = None) -> Tensor:
    return stack(_AllGather.apply(input_tensor, group)).reshape(output_tensor.shape)     # type: ignore[attr-defined]


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction of all ranks' lists at this rank's place. See torch.distributed.nn.functional.reduce_scatter."""
    return _ReduceScatter.apply(op, group, *input_list)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None) -> tuple[Tensor, ...]:
    """Return the tensors that all ranks have for this rank. See torch.distributed.nn.functional.all_to_all."""
    return _AllToAll.apply([tuple(t.shape) for t in output_tensor_list], group, *input_tensor_list)


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: list[int] | None = None,
                      input_split_sizes: list[int] | None = None, group: Any = None) -> Tensor:
    """Return the parts of all ranks' tensors for this rank, concatenated. See
    torch.distributed.nn.functional.all_to_all_single.
    """
    return _AllToAllSingle.apply(input, tuple(output.shape), output_split_sizes, input_split_sizes, group)
