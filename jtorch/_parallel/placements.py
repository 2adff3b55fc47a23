"""Placements: the layout of a tensor on one dimension of a mesh. See torch.distributed.tensor.placement_types."""
from __future__ import annotations

from dataclasses import dataclass


def part(size: int, n: int, at: int) -> tuple[int, int]:
    """Return the offset and length of part ``at`` of ``n``, as torch.chunk splits."""
    width = -(-size // n) if size else 0
    offset = min(width * at, size)
    return offset, min(width, size - offset)


class Placement:
    """The layout of a tensor on one dimension of a mesh. See torch.distributed.tensor.placement_types.Placement."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Return whether the tensor is sharded, along ``dim`` if it is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Return whether each rank has the whole tensor."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Return whether the tensor is a reduction of the ranks' tensors, by ``reduce_op`` if it is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each rank has a shard along ``dim``, as torch.chunk splits. See torch.distributed.tensor.Shard."""

    dim: int

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """Return the size and offset of a rank's shard of ``curr_local_size`` elements. See torch.distributed.tensor.Shard.

        >>> torch.distributed.tensor.Shard.local_shard_size_and_offset(5, 2, 1)
        (2, 3)

        """
        offset, size = part(curr_local_size, num_chunks, rank)
        return size, offset

    def _local_shard_size_and_offset(self, curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        return self.local_shard_size_and_offset(curr_local_size, num_chunks, rank)

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class _StridedShard(Shard):
    """A shard of a shard: this mesh dimension splits a tensor dimension after later mesh dimensions have split it."""

    split_factor: int = 1

    def is_shard(self, dim: int | None = None) -> bool:
        """Return False: the shard is not one that ``torch.chunk`` gives."""
        return False

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each rank has the whole tensor. See torch.distributed.tensor.Replicate."""

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """The tensor is the sum (or ``avg``, ``max``, ``min``, ``product``) of the ranks' tensors. See
    torch.distributed.tensor.Partial.
    """

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"
