"""Collectives on a tensor's shards with gradients, and redistribution by them.

The gradient of a shard has the shard's placement, and each term of a Partial tensor has the gradient of the sum. So the
backward of a collective here is another collective, or needs none.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch.distributed as dist
from jtorch._api.functions import cat, zeros
from jtorch._parallel.layout import Placements, local_part, order, part
from jtorch._parallel.placements import Partial, Replicate, Shard
from jtorch.autograd.function import Function
from jtorch.distributed.device_mesh import DeviceMesh
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor

_OPS = {"sum": "SUM", "avg": "SUM", "max": "MAX", "min": "MIN", "product": "PRODUCT"}


# ---------------------------------------------------------------- on plain tensors, without gradients

def _padded(x: Tensor, dim: int, width: int) -> Tensor:
    missing = width - x.shape[dim]
    if not missing:
        return x.contiguous()
    more = list(x.shape)
    more[dim] = missing
    return cat([x, zeros(more, dtype=x.dtype, device=x.device)], dim)


def gathered(x: Tensor, dim: int, size: int, group: Any) -> Tensor:
    """Concatenate the shards of all ranks along ``dim``, which has ``size`` elements in the whole tensor."""
    n = group.size()
    width = part(size, n, 0)[1]
    mine = _padded(x.detach(), dim, width)
    rows = zeros((n, *mine.shape), dtype=x.dtype, device=x.device)
    dist.all_gather_into_tensor(rows, mine, group)
    return cat([rows[i].narrow(dim, 0, part(size, n, i)[1]) for i in range(n)], dim)


def local_shard(x: Tensor, dim: int, group: Any) -> Tensor:
    """Return this rank's shard along ``dim`` of a tensor that all ranks have."""
    offset, length = part(x.shape[dim], group.size(), group.rank())
    return x.narrow(dim, offset, length).contiguous()


def reduced(x: Tensor, op: str, group: Any) -> Tensor:
    """Return the reduction over ranks."""
    made = x.detach().clone().contiguous()
    dist.all_reduce(made, getattr(dist.ReduceOp, _OPS[op]), group)
    return made.div_(group.size()) if op == "avg" else made


def reduced_part(x: Tensor, dim: int, op: str, group: Any) -> Tensor:
    """Return this rank's shard along ``dim`` of the reduction over ranks."""
    n, size = group.size(), x.shape[dim]
    width = part(size, n, 0)[1]
    parts = [_padded(x.detach().narrow(dim, *part(size, n, i)), dim, width) for i in range(n)]
    made = zeros(parts[0].shape, dtype=x.dtype, device=x.device)
    dist.reduce_scatter(made, parts, getattr(dist.ReduceOp, _OPS[op]), group)
    made = made.narrow(dim, 0, part(size, n, group.rank())[1])
    return made.div_(n) if op == "avg" else made


def exchanged(x: Tensor, gather_dim: int, split_dim: int, size: int, group: Any) -> Tensor:
    """Turn shards along ``gather_dim`` into shards along ``split_dim``; the whole tensor has ``size`` elements along
    ``gather_dim``.
    """
    n, width = group.size(), x.shape[split_dim]
    sent = [x.detach().narrow(split_dim, *part(width, n, i)).contiguous() for i in range(n)]
    mine = part(width, n, group.rank())[1]
    received = []
    for i in range(n):
        shape = list(x.shape)
        shape[split_dim], shape[gather_dim] = mine, part(size, n, i)[1]
        received.append(zeros(shape, dtype=x.dtype, device=x.device))
    dist.all_to_all(received, sent, group)
    return cat(received, gather_dim)


# ---------------------------------------------------------------- with gradients

class _Gather(Function):
    @staticmethod
    def forward(ctx, x, dim, size, group):
        ctx.kept = dim, group
        return gathered(x, dim, size, group)

    @staticmethod
    def backward(ctx, g):
        return _LocalShard.apply(g, *ctx.kept), None, None, None


class _LocalShard(Function):
    @staticmethod
    def forward(ctx, x, dim, group):
        ctx.kept = dim, x.shape[dim], group
        return local_shard(x, dim, group).clone()

    @staticmethod
    def backward(ctx, g):
        return _Gather.apply(g, *ctx.kept), None, None


class _Reduce(Function):
    @staticmethod
    def forward(ctx, x, op, group):
        ctx.kept = op, group
        return reduced(x, op, group)

    @staticmethod
    def backward(ctx, g):
        op, group = ctx.kept
        if op not in ("sum", "avg"):
            raise NotImplementedError(f"the gradient of a DTensor that is the {op} of its parts is not built: redistribute it "
                                      "before the reduction")
        return g.div(group.size()) if op == "avg" else g.clone(), None, None


class _ReducePart(Function):
    @staticmethod
    def forward(ctx, x, dim, op, group):
        ctx.kept = dim, x.shape[dim], op, group
        return reduced_part(x, dim, op, group)

    @staticmethod
    def backward(ctx, g):
        dim, size, op, group = ctx.kept
        made = _Gather.apply(g, dim, size, group)
        return made.div(group.size()) if op == "avg" else made, None, None, None


class _Exchange(Function):
    @staticmethod
    def forward(ctx, x, gather_dim, split_dim, size, group):
        ctx.kept = split_dim, gather_dim, x.shape[split_dim], group
        return exchanged(x, gather_dim, split_dim, size, group)

    @staticmethod
    def backward(ctx, g):
        return _Exchange.apply(g, *ctx.kept), None, None, None, None


class _Enter(Function):
    """Pass a replicated tensor into computations on each rank's shard; the gradient is the sum of the ranks' gradients."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return _Reduce.apply(g, "sum", ctx.group), None


class _Share(Function):
    """Turn a replicated tensor into equal terms of a sum."""

    @staticmethod
    def forward(ctx, x, n):
        return x.div(n)

    @staticmethod
    def backward(ctx, g):
        return g.clone(), None


class _PlaceGradient(Function):
    """Pass a tensor through; the gradient passes through the function ``bring``."""

    @staticmethod
    def forward(ctx, x, bring):
        ctx.bring = bring
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return ctx.bring(g), None


def reduced_with_gradient(x: Tensor, op: str, group: Any) -> Tensor:
    """Return the reduction over ranks; the gradient of each term is that of the reduction."""
    return _Reduce.apply(x, op, group)


def enter(x: Tensor, mesh: DeviceMesh, dims: list[int]) -> Tensor:
    """Mark a replicated tensor as used on each rank's shard, so that its gradient is summed over the mesh dimensions
    ``dims``.
    """
    if x.requires_grad:
        for d in dims:
            x = _Enter.apply(x, mesh.get_group(d))
    return x


def with_gradient_placed(x: Tensor, bring: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the same tensor; its gradient passes through ``bring``."""
    return _PlaceGradient.apply(x, bring) if x.requires_grad else x


# ---------------------------------------------------------------- redistribution

class _Redistribution:
    """A shard in the course of its redistribution from the placements ``now`` to ``wanted``."""

    def __init__(self, x: Tensor, mesh: DeviceMesh, shape: tuple[int, ...], now: Placements, wanted: Placements):
        self.x, self.mesh, self.shape, self.now, self.wanted = x, mesh, shape, list(now), wanted

    def size_without(self, i: int, dim: int) -> int:
        """Return the size of this rank's shard along ``dim`` if mesh dimension ``i`` did not split it."""
        placements: list = [Replicate() if j == i else p for j, p in enumerate(self.now)]
        return local_part(self.shape, self.mesh, tuple(placements))[0][dim]

    def gather(self) -> None:
        """Undo the splits that are not wanted, the last one first."""
        for dim in range(len(self.shape)):
            have, want = order(tuple(self.now), dim), order(self.wanted, dim)
            kept = 0
            while kept < min(len(have), len(want)) and have[kept] == want[kept]:
                kept += 1
            for i in reversed(have[kept:]):
                self._ungroup(i, dim)

    def _ungroup(self, i: int, dim: int) -> None:
        wanted, group = self.wanted[i], self.mesh.get_group(i)
        size = self.size_without(i, dim)
        if isinstance(wanted, Shard) and wanted.dim != dim \
                and [*order(tuple(self.now), wanted.dim), i] == order(self.wanted, wanted.dim):
            self.x, self.now[i] = _Exchange.apply(self.x, dim, wanted.dim, size, group), wanted
        else:
            self.x, self.now[i] = _Gather.apply(self.x, dim, size, group), Replicate()

    def reduce(self) -> None:
        """Reduce Partial placements that have to become replicated."""
        for i, p in enumerate(self.now):
            if isinstance(p, Partial) and self.wanted[i] != p and isinstance(self.wanted[i], Replicate):
                self.x, self.now[i] = _Reduce.apply(self.x, p.reduce_op, self.mesh.get_group(i)), Replicate()

    def split(self) -> None:
        """Shard as ``wanted`` says: reduce-scatter Partial placements, and slice replicated tensors."""
        for dim in range(len(self.shape)):
            for i in order(self.wanted, dim):
                now, group = self.now[i], self.mesh.get_group(i)
                if isinstance(now, Partial):
                    self.x = _ReducePart.apply(self.x, dim, now.reduce_op, group)
                elif not isinstance(now, Shard):
                    self.x = _LocalShard.apply(self.x, dim, group)
                self.now[i] = self.wanted[i]

    def share(self) -> None:
        """Turn replicated tensors into terms of a reduction, where Partial is wanted."""
        for i, p in enumerate(self.wanted):
            if isinstance(p, Partial) and self.now[i] != p:
                if not isinstance(self.now[i], Replicate):
                    raise NotImplementedError(f"redistributing {self.now[i]} to {p} is not built")
                self.x, self.now[i] = _Share.apply(self.x, self.mesh.size(i)) if p.reduce_op == "sum" else self.x, p


def redistribute(x: Tensor, mesh: DeviceMesh, shape: tuple[int, ...], now: Placements, wanted: Placements) -> Tensor:
    """Return this rank's shard for the placements ``wanted`` of a tensor with this ``shape`` and the placements ``now``."""
    if now == wanted or mesh.get_coordinate() is None:
        return x
    moved = _Redistribution(x, mesh, tuple(shape), now, wanted)
    moved.gather()
    moved.reduce()
    moved.split()
    moved.share()
    return moved.x


def redistribute_without_gradient(x: Tensor, *args: Any) -> Tensor:
    """Redistribute without recording a gradient."""
    with no_grad():
        return redistribute(x, *args)


def broadcast_from_first(local: Tensor, mesh: DeviceMesh, placements: Placements) -> Tensor:
    """Replace the shards by the first rank's along replicated mesh dimensions."""
    for i, p in enumerate(placements):
        if isinstance(p, Replicate):
            local = local.contiguous()
            with no_grad():
                dist.broadcast(local.detach(), group=mesh.get_group(i), group_src=0)
    return local
