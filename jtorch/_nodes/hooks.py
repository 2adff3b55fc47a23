"""Hooks on tensors and nodes, and the conversion of gradients for them."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from jtorch._base import late_bindings, warned
from jtorch.engine import Value
from jtorch.storage import value_of


def as_tensor(grad):
    """Return a gradient, a value or a tensor, as a tensor."""
    return late_bindings.wrap(grad) if grad.__class__ is Value else grad


def as_value(grad) -> Value:
    """Return a gradient, a value or a tensor, as a value."""
    return grad if grad.__class__ is Value else value_of(grad)


class RemovableHandle:
    """A handle that removes a hook from its dict and from ``extra_dict``. See torch.utils.hooks.RemovableHandle."""

    _ids = itertools.count()

    def __init__(self, hooks_dict: dict, fn=None, *, extra_dict: Any = None, first: bool = False):
        self.id = next(RemovableHandle._ids)
        self.dicts = (hooks_dict, *([] if extra_dict is None else [extra_dict] if isinstance(extra_dict, dict) else extra_dict))
        if fn is not None:
            hooks_dict[self.id] = fn
            if first:
                for key in list(hooks_dict)[:-1]:
                    hooks_dict[key] = hooks_dict.pop(key)

    @property
    def hooks_dict_ref(self) -> Callable[[], dict]:
        """A function that returns the dict of the hook."""
        return lambda: self.dicts[0]

    @property
    def extra_dict_ref(self) -> tuple:
        """Functions that return the further dicts of the hook."""
        return tuple([lambda found=d: found for d in self.dicts[1:]])

    def remove(self) -> None:
        """Remove the hook."""
        for hooks in self.dicts:
            hooks.pop(self.id, None)

    def __getstate__(self) -> tuple:
        return self.dicts[0], self.id, self.dicts[1:]

    def __setstate__(self, state: tuple) -> None:       # the format of PyTorch's pickles
        hooks, self.id, *extra = state
        self.dicts = ({} if hooks is None else hooks, *(extra[0] if extra and extra[0] else ()))
        while next(RemovableHandle._ids) <= self.id:    # no later hook may get the id of an unpickled handle
            pass

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def warn_not_saved(hooks: dict | None) -> None:
    """Warn for each hook of a tensor that pickles do not hold it."""
    for key, hook in (hooks or {}).items():
        if key != RETAIN and not hasattr(hook, "__torch_unserializable__"):
            warned.warn(f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                        "function with @torch.utils.hooks.unserializable_hook to suppress this warning")


RETAIN = "retain_grad"      # the key of the hook that fills ``grad`` of a non-leaf; it runs after the other hooks


def run_tensor_hooks(node: Any, grads: dict, create_graph: bool) -> dict:
    """Return the gradients as changed by the hooks of the tensors that are the node's outputs."""
    grads = dict(grads)
    for nr, hooks in node.tensor_hooks.items():         # type: ignore[union-attr]
        for hook in _in_order(hooks):
            given = as_tensor(grads[nr]) if nr in grads else None       # None: only another output has a gradient
            if hook is hooks.get(RETAIN) and (given is None or hasattr(node, "variable")):     # The tensor is a leaf now.
                continue
            new = hook(given)
            if new is None:
                new = given         # the hook may have changed it in place
            elif given is not None:
                _check_hooked(hook, new, given)
            if new is not None:
                grads[nr] = new if create_graph else as_value(new)
    return grads


def _in_order(hooks: dict) -> list:
    return [h for k, h in hooks.items() if k is not RETAIN] + ([hooks[RETAIN]] if RETAIN in hooks else [])


def _check_hooked(hook, new, given) -> None:
    """Raise TypeError or RuntimeError if a hook's result is no tensor with the gradient's dtype, device and shape."""
    name = getattr(hook, "__name__", "<unknown>")
    if not hasattr(new, "_storage"):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if new.dtype is not given.dtype or new.device != given.device:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {given.type()} got {new.type()})")
    if tuple(new.shape) != tuple(given.shape):
        raise RuntimeError(f"hook '{name}' has changed the size of value")


def run_prehooks(node: Any, grads: dict, create_graph: bool) -> dict:
    """Return the gradients of the node's outputs as changed by the node's prehooks."""
    for hook in list(node.prehooks.values()):           # type: ignore[union-attr]
        given = _all_gradients(node, grads)
        new = _returned(hook, hook(given), given)
        grads = {i: (g if create_graph else as_value(g)) for i, g in enumerate(new) if g is not None}
    return grads


def run_hooks(node: Any, outs: list, grads: dict, create_graph: bool) -> list:
    """Return the gradients of the node's inputs as changed by the node's hooks."""
    received = _all_gradients(node, grads)
    for hook in list(node.hooks.values()):              # type: ignore[union-attr]
        given = tuple([as_tensor(g) if g is not None else None for g in outs])
        new = _returned(hook, hook(given, received), given)
        outs = [None if g is None else (g if create_graph else as_value(g)) for g in new]
    return outs


def _all_gradients(node: Any, grads: dict) -> tuple:
    n = max(max(grads, default=0) + 1, len(node._input_metadata))
    return tuple([as_tensor(grads[i]) if i in grads else None for i in range(n)])


def _returned(hook, new: Any, given: tuple) -> tuple:
    """Return a hook's result after checks, or the gradients that it was given if it returned None."""
    if new is None:
        return given
    new = new if isinstance(new, tuple) else (new,)
    if len(new) != len(given):
        raise RuntimeError(f"hook '{getattr(hook, '__name__', '<unknown>')}' has returned an incorrect number of values (got "
                           f"{len(new)}, but expected {len(given)})")
    for n, g in zip(new, given, strict=True):
        if n is not None and g is not None:
            _check_hooked(hook, n, g)
    return new
