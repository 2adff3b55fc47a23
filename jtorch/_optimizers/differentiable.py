"""Differentiable steps, for ``differentiable=True``.

A differentiable step calls the same op as any other step, but on tensors instead of values. So new parameters and states
have a history.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jtorch._backward.view_history import requires_grad
from jtorch.dispatch import NUMBER_TYPES, call, check_inplace, write_with_history
from jtorch.engine import Call
from jtorch.no_grad import no_grad
from jtorch.ops.registry import NUMBERS, T
from jtorch.storage import value_of, write
from jtorch.tensor import Tensor


def operand(x: Any) -> tuple[Any, Any]:
    """Return (argument, marker) for an option; a 1-element tensor keeps its history."""
    if isinstance(x, Tensor):
        return (x.reshape(()) if x.ndim else x), T      # type: ignore[attr-defined]
    return float(x), NUMBERS[float]


def step(c: Call, flat: Sequence[Any], targets: Sequence[Tensor]) -> list[Tensor]:
    """Call an optimizer's rule, write its first results with history to ``targets``, and return the other results.

    Raises RuntimeError if a target is a leaf that requires a gradient, like any in-place call.
    """
    for t in targets:
        check_inplace(t, requires_grad(t))
    made = call(c, flat)
    if made[0]._node is not None:
        made[0]._node.versions = ()     # The node keeps the old values, so the writes below need no version check.
    for target, new in zip(targets, made, strict=False):
        write_with_history(target, value_of(new), new._node, new._output_nr)
    return made[len(targets):]


def write_scalars(names: Sequence[str], scalars: Sequence[Tensor], new: Sequence[Tensor], options: Sequence[Any]) -> None:
    """Write new scalar states, with history if an operand has one. Step counts never have a history."""
    tracked = any(requires_grad(t) for t in [*scalars, *options] if t.__class__ not in NUMBER_TYPES)
    for name, s, n in zip(names, scalars, new, strict=True):
        if tracked and name != "step":
            write_with_history(s, value_of(n), n._node, n._output_nr)
        else:
            write(s, value_of(n))


def step_by_copies(c: Call, flat: Sequence[Any], targets: Sequence[Any], counters: Sequence[Any]) -> list[Tensor]:
    """Call an optimizer's rule, copy its results to targets and counters, and return the other results."""
    with no_grad():
        made = call(c, flat)
        made = made if made.__class__ is list else [made]
        at = len(made) - len(counters)
        for target, new in [*zip(targets, made, strict=False), *zip(counters, made[at:], strict=True)]:
            target.copy_(new)
    return made[len(targets):at]
