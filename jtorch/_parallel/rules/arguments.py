"""The registry of sharding rules, and access to a call's arguments by position or name."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._base.pytree import flatten
from jtorch._parallel.dtensor import DTensor

RULES: dict[str, Callable] = {}
HANDLERS: dict[str, Callable] = {}
MISSING: Any = object()


def rule(*names: str) -> Callable:
    """Register the sharding rule of these functions."""
    def register(make: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, make))
        return make
    return register


def handler(*names: str) -> Callable:
    """Register a replacement of these functions, which may decline by returning NotImplemented."""
    def register(do: Callable) -> Callable:
        HANDLERS.update(dict.fromkeys(names, do))
        return do
    return register


def dtensors(*trees: Any) -> list[DTensor]:
    """Return the DTensors in some arguments, in order."""
    return [t for t in flatten(trees)[0] if isinstance(t, DTensor)]


def argument(args: tuple, kwargs: dict, at: int, *names: str, default: Any = None) -> Any:
    """Return an argument by its position or one of its names."""
    if at < len(args):
        return args[at]
    return next((kwargs[n] for n in names if n in kwargs), default)


def with_argument(args: tuple, kwargs: dict, at: int, name: str, value: Any) -> tuple[tuple, dict]:
    """Return the arguments with the one at this position or name replaced."""
    if at < len(args):
        return (*args[:at], value, *args[at + 1:]), kwargs
    return args, {**kwargs, name: value}


def front(dim: int, ndim: int) -> int:
    """Return a non-negative dim; IndexError if it is out of range."""
    n = max(ndim, 1)
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def fronts(dims: Any, ndim: int) -> tuple[int, ...]:
    """Return non-negative dims; all dims, for None or an empty list."""
    if dims is None or (isinstance(dims, (tuple, list)) and not dims):
        return tuple(range(ndim))
    return tuple([front(d, ndim) for d in (dims if isinstance(dims, (tuple, list)) else [dims])])
