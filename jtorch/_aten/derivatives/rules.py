"""Which ops have a derivative in PyTorch's operators, and what rules are made with."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._aten.context import Context

RULES: dict[str, Callable[[Context], Any]] = {}
Grads = dict[str, Any]
F = "nn.functional."


def rule(*names: str) -> Callable:
    """Says of which ops a function is the derivative."""
    def note(fn: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, fn))
        return fn
    return note


def unary(*names: str) -> Callable:
    """A rule for the gradient of the first argument alone."""
    def note(fn: Callable) -> Callable:
        def run(c: Context) -> Any:
            made = fn(c, c.grad())
            return made if made is NotImplemented else {c.node.call.op.params[0].name: made}
        RULES.update(dict.fromkeys(names, run))
        return fn
    return note


def by_operator(op: str, name: str, given: Callable[[Context], dict[str, Any]], first: str = "grad_output") -> None:
    """A derivative that is one operator, which takes the gradient first."""
    def run(c: Context) -> Any:
        return c.operator(name, {first: c.grad(), **given(c)}, {c.node.call.op.params[0].name: None})
    RULES[op] = run


def itself(c: Context) -> dict[str, Any]:
    """The first argument, as most operators of backward take it."""
    return {"self": c.args["input"]}


def times(grad: Any, factor: Any) -> Any:
    """A gradient times a number."""
    return grad if factor == 1 else grad * factor
