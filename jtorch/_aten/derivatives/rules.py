"""The registry of derivative rules, and helpers for rules."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._aten.context import Context

RULES: dict[str, Callable[[Context], Any]] = {}
Grads = dict[str, Any]
F = "nn.functional."


def rule(*names: str) -> Callable:
    """Register a function as the derivative rule of some ops."""
    def note(fn: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, fn))
        return fn
    return note


def unary(*names: str) -> Callable:
    """Register a function of (context, gradient) as the derivative of some ops by their first argument."""
    def note(fn: Callable) -> Callable:
        def run(c: Context) -> Any:
            made = fn(c, c.grad())
            return made if made is NotImplemented else {c.node.call.op.params[0].name: made}
        RULES.update(dict.fromkeys(names, run))
        return fn
    return note


def by_operator(op: str, name: str, given: Callable[[Context], dict[str, Any]], first: str = "grad_output") -> None:
    """Register the operator ``name`` as the derivative of ``op`` by its first argument.

    ``first`` is the operator's argument for the gradient, and ``given`` returns the other arguments.
    """
    def run(c: Context) -> Any:
        return c.operator(name, {first: c.grad(), **given(c)}, {c.node.call.op.params[0].name: None})
    RULES[op] = run


def itself(c: Context) -> dict[str, Any]:
    """Return {"self": the argument ``input``}, which most backward operators take."""
    return {"self": c.args["input"]}


def times(grad: Any, factor: Any) -> Any:
    """Return a gradient times a number."""
    return grad if factor == 1 else grad * factor
