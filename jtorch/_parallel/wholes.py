"""DTensors as the tensors that they are parts of, on each rank, without gradients."""
from __future__ import annotations

from typing import Any

from jtorch._base.pytree import tree_map
from jtorch._parallel.dtensor import DTensor, local_of
from jtorch._parallel.moves import redistributed_plainly
from jtorch._parallel.placements import Replicate


def whole(t: Any) -> Any:
    """All of a DTensor, without a gradient; anything else itself."""
    if not isinstance(t, DTensor):
        return t
    spec = t._spec
    return redistributed_plainly(local_of(t).detach(), spec.mesh, spec.shape, spec.placements, (Replicate(),) * spec.mesh.ndim)


def wholes(tree: Any) -> Any:
    """Anything, with all DTensors in it whole."""
    return tree_map(whole, tree)
