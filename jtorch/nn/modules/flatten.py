"""Modules that only change the shape. See torch.nn.Flatten."""
from __future__ import annotations

from typing import Any

from jtorch.nn.modules.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Joins the dims from ``start_dim`` to ``end_dim``, by default all but the batch dim. See torch.nn.Flatten.

    Shape: any; a view of the input where its strides allow one.

    Args:
        start_dim (int): the first of the dims.
        end_dim (int): the last of the dims.

    Example::

        >>> nn.Flatten()(torch.zeros(2, 3, 4)).shape
        torch.Size([2, 12])

    """

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        """Return the flattened input."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Return the dims."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits a dim into dims of the sizes ``unflattened_size``, one of which can be -1. See torch.nn.Unflatten.

    Shape: any whose size along ``dim`` is the product; RuntimeError for others. TypeError for sizes that are not ints.

    Args:
        dim (int or str): the dim to unflatten.
        unflattened_size (tuple of ints): the sizes of the new dims.

    Example::

        >>> nn.Unflatten(1, (3, -1))(torch.zeros(2, 12)).shape
        torch.Size([2, 3, 4])

    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: int, unflattened_size: Any):
        super().__init__()
        _check_sizes(unflattened_size)
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input):
        """Return the unflattened input."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Return the dim and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def _check_sizes(given: Any) -> None:
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(given).__name__}")
    for position, size in enumerate(given):
        if not isinstance(size, int):
            raise TypeError(f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at pos "
                            f"{position}")
