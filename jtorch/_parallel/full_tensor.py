"""DTensors as the tensors that they are parts of, on each rank, without gradients."""
from __future__ import annotations

from typing import Any

from jtorch._base.pytree import tree_map
from jtorch._parallel.dtensor import DTensor


def full_tensor(t: Any) -> Any:
    """All of a DTensor, without a gradient; anything else itself."""
    return t._whole() if isinstance(t, DTensor) else t


def full_tensors(tree: Any) -> Any:
    """Anything, with all DTensors in it whole."""
    return tree_map(full_tensor, tree)
