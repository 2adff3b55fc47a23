"""Flattening of arguments in the structure of the traced call. See torch.fx._pytree."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.utils._pytree import TreeSpec

SUPPORTED_NODES: dict[type, Callable[[Any, TreeSpec], list[Any]]] = {}
SUPPORTED_NODES_EXACT_MATCH: dict[type, Callable[[Any, TreeSpec], bool] | None] = {}


def register_pytree_flatten_spec(cls: type, flatten_fn_spec: Callable[[Any, TreeSpec], list[Any]],
                                 flatten_fn_exact_match_spec: Callable[[Any, TreeSpec], bool] | None = None) -> None:
    """Register the function that returns the children of an object of ``cls`` that a spec has. The object may have more."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def _items(tree: Any, spec: TreeSpec) -> list[Any]:
    return [tree[i] for i in range(spec.num_children)]


register_pytree_flatten_spec(dict, lambda tree, spec: [tree[key] for key in spec.context])
for _kind in (list, tuple):
    register_pytree_flatten_spec(_kind, _items)


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """Return the leaves of a tree at the places where ``spec`` has leaves."""
    children = None if spec.is_leaf() else SUPPORTED_NODES.get(spec.type)
    if children is None:
        return spec.flatten_up_to(pytree)
    pairs = zip(children(pytree, spec), spec.children(), strict=False)
    return [leaf for child, of in pairs for leaf in tree_flatten_spec(child, of)]
