"""torch.nn.attention.bias: causal masks for queries and keys of different lengths, as bool tensors."""
from __future__ import annotations

from jtorch.nn._make import torch
from jtorch.tensor import Tensor

__all__ = ["causal_lower_right", "causal_upper_left"]


def _lower_triangle(size: tuple[int, ...], diagonal: int) -> Tensor:
    if len(size) != 2:
        raise RuntimeError(f"causal bias expects two sizes, got {len(size)}")
    return torch("ones")(*size, dtype=torch("bool")).tril(diagonal)


def causal_upper_left(*size: int) -> Tensor:
    """A mask (queries, keys) whose diagonal starts at the first query and key. See torch.nn.attention.bias."""
    return _lower_triangle(size, 0)


def causal_lower_right(*size: int) -> Tensor:
    """A mask (queries, keys) whose diagonal ends at the last query and key. See torch.nn.attention.bias."""
    return _lower_triangle(size, size[1] - size[0])
