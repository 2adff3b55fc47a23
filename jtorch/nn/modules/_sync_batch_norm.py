"""Batch norm statistics of a batch that is spread over ranks."""
from __future__ import annotations

from typing import Any

import jtorch.distributed as dist
from jtorch._api.functions import cat
from jtorch._api.meshes import is_on_mesh
from jtorch.autograd.function import Function
from jtorch.tensor import Tensor


class _SumOverRanks(Function):
    """The sum over all ranks; its gradient is the sum of the ranks' gradients."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        made = x.detach().clone()
        dist.all_reduce(made, group=group)
        return made

    @staticmethod
    def backward(ctx, g):
        return _SumOverRanks.apply(g.contiguous(), ctx.group), None


def group_of(x: Tensor, process_group: Any) -> Any:
    """Return the process group that shares the batch ``x``; None for a single process, or if ``x`` is the whole batch."""
    if not dist.is_initialized() or is_on_mesh(x):
        return None
    group = dist._get_default_group() if process_group is None else process_group
    return group if group.size() > 1 else None


def statistics(x: Tensor, group: Any) -> tuple[Tensor, Tensor, int]:
    """Return each channel's mean and variance over all ranks' batches, and the number of elements."""
    t: Any = x
    dims = [0, *range(2, t.dim())]
    count = t.new_full((1,), float(t.numel() // max(t.shape[1], 1)))
    total = _SumOverRanks.apply(cat([t.sum(dims), count]), group)
    mean, n = total[:-1] / total[-1].detach(), int(total[-1].item())
    shape = (1, -1, *(1,) * (t.dim() - 2))
    variance = _SumOverRanks.apply(((t - mean.view(shape)) ** 2).sum(dims), group) / n
    return mean, variance, n


def normalized(x: Tensor, mean: Tensor, variance: Tensor, weight: Any, bias: Any, eps: float) -> Tensor:
    """Normalize a batch by the given statistics, and apply weight and bias."""
    t: Any = x
    shape = (1, -1, *(1,) * (t.dim() - 2))
    made = (t - mean.view(shape)) * (variance + eps).rsqrt().view(shape)      # type: ignore[attr-defined]
    if weight is not None:
        made = made * weight.view(shape)
    return made if bias is None else made + bias.view(shape)
