"""Sizes and offsets of a tensor's shards, for packages that load checkpoints. See torch.distributed.tensor._utils."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jtorch._base.size import Size
from jtorch._parallel.layout import local_part, whole_stride
from jtorch._parallel.placements import Placement
from jtorch.distributed.device_mesh import DeviceMesh
from jtorch.tensor import Tensor


def compute_local_shape_and_global_offset(global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement],
                                          skip_offset: bool = False) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the size and the offset of this rank's shard. See torch.distributed.tensor._utils."""
    shape, offset = local_part(global_shape, mesh, tuple(placements))
    return shape, () if skip_offset else offset


def compute_local_tensor_info(global_tensor: Tensor, mesh: DeviceMesh,
                              placements: Sequence[Placement]) -> tuple[list[int], list[int]]:
    """Return the size and the strides of this rank's shard. See torch.distributed.tensor._utils."""
    shape, _ = local_part(global_tensor.shape, mesh, tuple(placements))
    return list(shape), list(compute_local_stride(global_tensor.stride(), shape))


def compute_local_stride(global_stride: Sequence[int], local_shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a dense shard whose dims have the same order in memory as the whole tensor's."""
    return whole_stride(global_stride, local_shape)


def normalize_to_torch_size(size: Any) -> Size:
    """Return a Size from one integer, several integers or one sequence."""
    if isinstance(size, int):
        return Size([size])
    return Size(size[0] if len(size) == 1 and isinstance(size[0], Sequence) else size)
