"""Conversion of DTensors to whole tensors on each rank, without gradients."""
from __future__ import annotations

from typing import Any

from jtorch._base.pytree import tree_map
from jtorch._parallel.dtensor import DTensor


def full_tensor(t: Any) -> Any:
    """Return the whole tensor of a DTensor, without a gradient; any other object unchanged."""
    return t._whole() if isinstance(t, DTensor) else t


def full_tensors(tree: Any) -> Any:
    """Replace all DTensors in a tree by whole tensors."""
    return tree_map(full_tensor, tree)
