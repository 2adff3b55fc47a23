"""DTensors as the tensors that they are parts of, on each rank, without gradients."""
from __future__ import annotations

from typing import Any

from jtorch._base.pytree import tree_map
from jtorch._parallel.dtensor import DTensor


def whole(t: Any) -> Any:
    """All of a DTensor, without a gradient; anything else itself."""
    return t._whole() if isinstance(t, DTensor) else t


def wholes(tree: Any) -> Any:
    """Anything, with all DTensors in it whole."""
    return tree_map(whole, tree)
