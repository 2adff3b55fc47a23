"""How a tensor lies on one dimension of a mesh. See torch.distributed.tensor.placement_types."""
from __future__ import annotations

from dataclasses import dataclass


def part(size: int, n: int, at: int) -> tuple[int, int]:
    """(offset, length) of part ``at`` of ``n``, as torch.chunk cuts."""
    width = -(-size // n) if size else 0
    offset = min(width * at, size)
    return offset, min(width, size - offset)


class Placement:
    """How a tensor lies on one dimension of a mesh. See torch.distributed.tensor.placement_types.Placement."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each rank has a part, along ``dim``."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each rank has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether it is the reduction of what the ranks have."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each rank has a part along a dimension: the parts of ``torch.chunk``. See torch.distributed.tensor.Shard."""

    dim: int

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """(size, offset) of a rank's part of so many elements. See torch.distributed.tensor.Shard.

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
    """A part of a part: this dimension of the mesh comes behind later ones that split the same dimension of the tensor."""

    split_factor: int = 1

    def is_shard(self, dim: int | None = None) -> bool:
        """False: its part is not one that ``torch.chunk`` would give."""
        return False

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each rank has all of it. See torch.distributed.tensor.Replicate."""

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """It is the sum (or ``avg``, ``max``, ``min``, ``product``) of what the ranks have. See torch.distributed.tensor.Partial."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"
