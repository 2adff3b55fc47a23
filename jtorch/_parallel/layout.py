"""The layout of a tensor's shards on a mesh: pure functions of sizes and placements."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jtorch._parallel.placements import Partial, Placement, Replicate, Shard, _StridedShard
from jtorch._parallel.placements import part as part
from jtorch.distributed.device_mesh import DeviceMesh

Placements = tuple[Placement, ...]


@dataclass(frozen=True)
class Layout:
    """The layout of a distributed tensor: its mesh, its placements, and the size and strides of the whole tensor."""

    mesh: DeviceMesh
    placements: Placements
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self.mesh


def normalized(placements: Sequence[Placement] | None, mesh: DeviceMesh, ndim: int) -> Placements:
    """Return one placement for each dimension of the mesh, with non-negative dims."""
    if placements is None:
        return (Replicate(),) * mesh.ndim
    made = [_from_front(p, ndim) for p in placements]
    kinds = {p.reduce_op for p in made if isinstance(p, Partial)}
    if len(kinds) > 1 and kinds != {"sum", "avg"}:
        raise ValueError(f"Mixed partial reduce types {kinds} are not supported in one DTensor")
    return tuple(made)


def _from_front(p: Placement, ndim: int) -> Placement:
    if not isinstance(p, Shard) or p.dim >= 0:
        return p
    return _StridedShard(p.dim + ndim, p.split_factor) if isinstance(p, _StridedShard) else Shard(p.dim + ndim)


def order(placements: Placements, dim: int) -> list[int]:
    """Return the mesh dimensions that split a tensor dimension, in the order of splitting."""
    found = [i for i, p in enumerate(placements) if isinstance(p, Shard) and p.dim == dim]
    return sorted(found, key=lambda i: isinstance(placements[i], _StridedShard))


def local_part(shape: Sequence[int], mesh: DeviceMesh, placements: Placements,
               coordinate: Sequence[int] | None = None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the sizes and offsets of the shard at ``coordinate``; of this process's shard, if None."""
    at = mesh.get_coordinate() if coordinate is None else coordinate
    if at is None:
        return (0,) * len(shape), (0,) * len(shape)
    sizes, offsets = list(shape), [0] * len(shape)
    for dim in range(len(shape)):
        for i in order(placements, dim):
            offset, sizes[dim] = part(sizes[dim], mesh.size(i), at[i])
            offsets[dim] += offset
    return tuple(sizes), tuple(offsets)


def whole_shape(local: Sequence[int], mesh: DeviceMesh, placements: Placements) -> tuple[int, ...]:
    """Return the size of the whole tensor whose shards all have the size ``local``."""
    shape = list(local)
    for i, p in enumerate(placements):
        if isinstance(p, Shard):
            shape[p.dim] *= mesh.size(i)
    return tuple(shape)


def whole_stride(local_stride: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a dense tensor of this shape whose dims have the same order in memory as the shard's."""
    stride, step = [1] * len(shape), 1
    for dim in sorted(range(len(shape)), key=lambda d: (local_stride[d], -d)):
        stride[dim] = step
        step *= max(shape[dim], 1)
    return tuple(stride)


def contiguous_stride(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor."""
    return tuple([math.prod([max(n, 1) for n in shape[i + 1:]]) for i in range(len(shape))])


def is_even(size: int, n: int) -> bool:
    """Return whether ``n`` parts have equal sizes."""
    return size % n == 0


def of_gradient(placements: Placements) -> Placements:
    """Return the placements of a tensor's gradient: each term of a Partial tensor has the gradient of the sum."""
    return tuple([Replicate() if isinstance(p, Partial) else p for p in placements])


def current(placements: Any) -> tuple:
    """Return placements as a tuple."""
    return tuple(placements)
