"""Shared parts of the transforms: inputs to differentiate, and whether code outside can differentiate the results too.

A transform runs the function on new inputs and differentiates on the ordinary tape. It frees the graph unless the graph
contains an outer tensor that requires a gradient. So transforms nest, and ``backward`` goes through them.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from jtorch._api import functions
from jtorch._base.pytree import flatten, tree_map, unflatten
from jtorch._nodes import tangents
from jtorch.autograd.run import grad
from jtorch.no_grad import mode
from jtorch.tensor import Tensor


def tracking() -> bool:
    """Return whether calls are recorded for code outside the transform."""
    return mode.grad and not mode.inference


@contextlib.contextmanager
def recording(tree: Any = (), grad: bool = True) -> Iterator[None]:
    """Record the calls in this block if ``grad`` is True, whatever the grad and inference modes outside are.

    If calls are recorded outside and a tensor in ``tree`` requires a gradient, the graph can outlast the transform. Otherwise
    it may contain inference tensors.
    """
    lasts = tracking() and any([isinstance(t, Tensor) and t.requires_grad for t in flatten(tree)[0]])
    before = mode.grad, mode.inference, mode.transformed
    mode.grad, mode.inference, mode.transformed = grad, False, mode.transformed or not lasts
    try:
        yield
    finally:
        mode.grad, mode.inference, mode.transformed = before


def _own_leaf(t: Tensor) -> Tensor:
    made = tangents.carry(t, t.detach())
    made._inference = False
    return made.requires_grad_()


def zeros_like(t: Any) -> Any:
    """Return zeros with a tensor's shape, dtype and device."""
    return functions.zeros_like(t)


class Inputs:
    """The inputs that a transform differentiates: views of those that require gradients, and new leaves for the others."""

    def __init__(self, tree: Any):
        given, self.form = flatten(tree)
        for t in given:
            if not isinstance(t, Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(t)}")
        self.watched = any([t.requires_grad for t in given])
        self.leaves = [t.view_as(t) if t.requires_grad else _own_leaf(t) for t in given]

    def tree(self) -> Any:
        """Return the inputs in their original tree structure."""
        return unflatten(self.leaves, self.form)

    def have_company(self, outputs: list) -> bool:
        """Return whether an input requires a gradient outside the transform, or the outputs' graph has a leaf from outside."""
        return self.watched or _reaches_others(outputs, self.leaves)

    def gradients(self, outputs: list, given: list | None, *, keep: bool, retain: bool) -> Any:
        """Return the gradients in the inputs' structure, with zeros for inputs that the outputs do not depend on."""
        found = gradients(outputs, self.leaves, given, keep=keep, retain=retain)
        return unflatten([zeros_like(t) if g is None else g for g, t in zip(found, self.leaves, strict=True)], self.form)


def gradients(outputs: list, inputs: list, given: list | None, *, keep: bool, retain: bool) -> tuple:
    """Call ``autograd.grad`` on the outputs that have a graph; return None for inputs without a gradient."""
    pairs = [(o, g) for o, g in zip(outputs, given or [None] * len(outputs), strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return grad([o for o, _ in pairs], inputs, [g for _, g in pairs], retain or keep, keep, allow_unused=True)


def _reaches_others(outputs: list, own: list) -> bool:
    """Return whether the outputs' graph contains a leaf other than ``own``."""
    mine, seen = {id(t) for t in own}, set()
    todo = [t.grad_fn for t in outputs if isinstance(t, Tensor) and t.grad_fn is not None]
    if any([isinstance(t, Tensor) and t.requires_grad and t.grad_fn is None and id(t) not in mine for t in outputs]):
        return True
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in mine:
            return True
        todo += [n for n, _ in node.next_functions if n is not None]
    return False


def released(tree: Any, keep: bool) -> Any:
    """Return the results for the caller, without history unless ``keep`` is true."""
    return tree if keep else tree_map(_without_history, tree)


def _without_history(t: Any) -> Any:
    return tangents.carry(t, t.detach()) if isinstance(t, Tensor) and t.requires_grad else t
