"""Branches and loops as functions: torch.cond and torch.while_loop."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch.dtype as dtypes
from jtorch._api import functions
from jtorch._api.names import put
from jtorch.tensor import Tensor


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: Any = ()) -> Any:
    """Return ``true_fn(*operands)`` if ``pred`` is true, else ``false_fn(*operands)``. See torch.cond.

    Only one branch is called. ``pred`` is read at once, as by a Python ``if``.
    """
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    return true_fn(*operands) if pred else false_fn(*operands)


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: Any) -> Any:
    """Apply ``body_fn`` to ``carried_inputs``, then to its results, while ``cond_fn`` of them is true. See torch.while_loop.

    The result of ``cond_fn`` is read in each iteration, as by a Python ``while``.
    """
    if not (callable(cond_fn) and callable(body_fn)):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError("Expect carried_inputs to be a tuple of possibly nested dict/list/tuple that only consists of "
                           f"tensor or int leaves, but got {carried_inputs}.")
    values = tuple(carried_inputs)
    while _holds(cond_fn(*values)):
        made = body_fn(*values)
        if not isinstance(made, (tuple, list)) or len(made) != len(values):
            raise RuntimeError("body_fn should return the same number of values as it is given")
        values = tuple(made)
    return values


def _holds(answer: Any) -> bool:
    if isinstance(answer, Tensor) and (answer.dtype is not dtypes.bool_ or answer.dim() != 0):
        raise RuntimeError(f"cond_fn must return a boolean scalar tensor but got {answer}")
    return bool(answer)


def bind() -> None:
    """Add the functions of this module to the package."""
    put(functions, {"cond": cond, "while_loop": while_loop})
