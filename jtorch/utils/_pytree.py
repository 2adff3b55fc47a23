"""torch.utils._pytree: nested tuples, lists and dicts, in PyTorch's order. jtorch.func has what this is made of."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.func import _trees

__all__ = ["TreeSpec", "tree_all", "tree_any", "tree_flatten", "tree_leaves", "tree_map", "tree_map_", "tree_map_only",
           "tree_structure", "tree_unflatten"]


class TreeSpec:
    """The form of a tree, without its leaves."""

    def __init__(self, form: Any):
        self._form = form
        self.num_leaves = _trees.count(form)

    def unflatten(self, leaves: Any) -> Any:
        """The tree with these leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree "
                             f"that holds {self.num_leaves} items.")
        return _trees.unflatten(leaves, self._form)

    def is_leaf(self) -> bool:
        """Whether the tree is a leaf."""
        return self._form is _trees.LEAF

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and self._form == other._form

    def __hash__(self) -> int:
        return hash(self.num_leaves)


PyTree = Any


def _no_leaf_test(is_leaf: Any) -> None:
    if is_leaf is not None:
        raise NotImplementedError("is_leaf is not built; jax.tree_util has it")


def tree_flatten(tree: Any, is_leaf: Any = None) -> tuple[list, TreeSpec]:
    """(leaves, form)."""
    _no_leaf_test(is_leaf)
    leaves, form = _trees.flatten(tree)
    return leaves, TreeSpec(form)


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> Any:
    """The tree of a form with these leaves."""
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Any = None) -> list:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Any = None) -> TreeSpec:
    """The form."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable, tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """The tree with ``func`` of its leaves, and of those in the same places of other trees."""
    leaves, form = tree_flatten(tree, is_leaf)
    others = []
    for rest in rests:
        found, theirs = tree_flatten(rest)
        if theirs != form:
            raise ValueError("Node type mismatch; the trees have different forms")
        others.append(found)
    return form.unflatten([func(*each) for each in zip(leaves, *others, strict=True)])


def tree_map_(func: Callable, tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """Calls ``func`` for each leaf and gives the tree."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(type_or_types_or_pred: Any, func: Callable, tree: Any, is_leaf: Any = None) -> Any:
    """``tree_map`` for leaves of a class; the others stay."""
    wanted = type_or_types_or_pred
    chosen = (lambda x: isinstance(x, wanted)) if isinstance(wanted, (type, tuple)) else wanted
    return tree_map(lambda x: func(x) if chosen(x) else x, tree, is_leaf=is_leaf)


def tree_all(pred: Callable, tree: Any, is_leaf: Any = None) -> bool:
    """Whether ``pred`` is true of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable, tree: Any, is_leaf: Any = None) -> bool:
    """Whether ``pred`` is true of a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))
