"""Arguments in the form that a traced function was traced with. See torch.fx._pytree."""
from __future__ import annotations

from typing import Any

from jtorch.utils._pytree import TreeSpec


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of a tree, where ``spec`` has leaves."""
    return spec.flatten_up_to(pytree)
