"""Nested tuples, lists and dicts, in PyTorch's order (dicts as they are: JAX's trees sort them)."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

LEAF = object()


def flatten(tree: Any) -> tuple[list, Any]:
    """The leaves, and what ``unflatten`` makes the same form of; forms are compared with ``==``."""
    leaves: list = []
    return leaves, _form(tree, leaves)


def _form(tree: Any, leaves: list) -> Any:
    if isinstance(tree, (dict, OrderedDict)) and type(tree) in (dict, OrderedDict):
        return type(tree), tuple(tree), [_form(v, leaves) for v in tree.values()]
    if type(tree) in (list, tuple) or (isinstance(tree, tuple) and hasattr(tree, "_fields")):
        return type(tree), None, [_form(v, leaves) for v in tree]
    leaves.append(tree)
    return LEAF


def unflatten(leaves: Any, form: Any) -> Any:
    """The tree of a form with other leaves."""
    return _built(iter(leaves), form)


def _built(leaves: Iterator, form: Any) -> Any:
    if form is LEAF:
        return next(leaves)
    kind, keys, children = form
    made = [_built(leaves, c) for c in children]
    if keys is not None:
        return kind(zip(keys, made, strict=True))
    return kind(*made) if hasattr(kind, "_fields") else kind(made)


def tree_map(fn: Callable, tree: Any) -> Any:
    """The tree with ``fn`` applied to its leaves."""
    leaves, form = flatten(tree)
    return unflatten([fn(x) for x in leaves], form)


def spread(prefix: Any, form: Any) -> list | None:
    """A value for each leaf of a form, from a tree that may stop above the leaves; None where they do not fit."""
    if form is LEAF or not isinstance(prefix, (tuple, list, dict)):
        return None if isinstance(prefix, (tuple, list, dict)) else [prefix] * count(form)
    kind, keys, children = form
    if type(prefix) is not kind or len(prefix) != len(children) or (keys is not None and set(prefix) != set(keys)):
        return None
    parts = [spread(prefix[k] if keys is not None else p, c)
             for k, p, c in zip(keys or children, prefix, children, strict=True)]
    return None if any([p is None for p in parts]) else [x for p in parts for x in p]   # type: ignore[union-attr]


def count(form: Any) -> int:
    """The number of leaves of a form."""
    return 1 if form is LEAF else sum([count(c) for c in form[2]])
