"""Conversion of PyTorch's placements to JAX's partition specs and back. A mesh's dimensions are axes of JAX's mesh."""
from __future__ import annotations

import math
from collections.abc import Sequence

from jax.sharding import PartitionSpec

from jtorch._parallel.layout import Placements, order
from jtorch._parallel.placements import Partial, Replicate, Shard, _StridedShard
from jtorch.distributed.device_mesh import DeviceMesh
from jtorch.engine.values import spec_from


def spec_for(placements: Placements, mesh: DeviceMesh, shape: Sequence[int],
             before: PartitionSpec | None = None, *, check: bool = True) -> PartitionSpec | None:
    """Return the partition spec of placements: the axes that split each dim.

    Args:
        placements: one placement for each dimension of the mesh.
        mesh: the mesh, which may be a part of a larger one.
        shape: the size of the tensor.
        before: the tensor's current spec; axes outside ``mesh`` keep their dims.
        check: whether the dims must divide evenly.

    Raises:
        NotImplementedError: a Partial placement, or a dim that does not divide evenly.

    """
    if any(isinstance(p, Partial) for p in placements):
        raise NotImplementedError("Partial placements are of several processes: in one process a DTensor is never Partial")
    own = {axis for axes in mesh._axes for axis in axes}
    entries: list = []
    for dim, size in enumerate(shape):
        kept = [a for a in _axes_of(before, dim) if a not in own]
        axes = kept + [a for i in order(placements, dim) for a in mesh._axes[i]]
        if check:
            _check_even(size, dim, math.prod([mesh._own.shape[a] for a in axes]))
        entries.append(tuple(axes))
    return spec_from(entries)


def _check_even(size: int, dim: int, parts: int) -> None:
    if size % parts:
        raise NotImplementedError(f"In one process a dim is split into equal parts: {size} elements along dim {dim} cannot be "
                                  f"{parts} parts. Replicate() it, or split another dim.")


def is_even(size: int, mesh: DeviceMesh) -> bool:
    """Return whether a dim of this size can be split evenly over all of a mesh."""
    return not size % mesh.size()


def part_sizes(shape: Sequence[int], spec: PartitionSpec | None, mesh: DeviceMesh) -> tuple[int, ...]:
    """Return the size of each device's shard."""
    return tuple([n // math.prod([mesh._own.shape[a] for a in _axes_of(spec, d)]) for d, n in enumerate(shape)])


def _axes_of(spec: PartitionSpec | None, dim: int) -> tuple[str, ...]:
    entry = spec[dim] if spec is not None and dim < len(spec) else None
    return () if entry is None else entry if isinstance(entry, tuple) else (entry,)


def used(spec: PartitionSpec | None) -> set[str]:
    """Return the axes over which a tensor is split."""
    return {a for dim in range(len(spec or ())) for a in _axes_of(spec, dim)}


def placements_of(spec: PartitionSpec | None, mesh: DeviceMesh) -> Placements:
    """Return the placements that a partition spec means on a mesh."""
    made: list = [Replicate()] * mesh.ndim
    for dim in range(len(spec or ())):
        axes = _axes_of(spec, dim)
        split = [i for i, own in sorted(enumerate(mesh._axes), key=lambda x: _place(axes, x[1])) if set(own) <= set(axes)]
        for at, i in enumerate(split):
            before = math.prod([mesh.size(j) for j in split[:at] if j > i])
            made[i] = _StridedShard(dim, before) if before > 1 else Shard(dim)
    return tuple(made)


def _place(axes: tuple[str, ...], own: tuple[str, ...]) -> int:
    return axes.index(own[0]) if own[0] in axes else -1


def says_all(spec: PartitionSpec | None, mesh: DeviceMesh) -> bool:
    """Return whether a mesh, perhaps a part of a larger one, has all axes over which a tensor is split."""
    return used(spec) <= {a for axes in mesh._axes for a in axes}
