"""Arguments of calls, normalized to the callee's signature. See torch.fx.operator_schemas."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from jtorch._api.torch_function import as_written

__all__ = ["ArgsKwargsPair", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Positional arguments, and arguments by name. See torch.fx.operator_schemas.ArgsKwargsPair."""

    args: tuple
    kwargs: dict[str, Any]


def normalize_function(target: Callable, args: tuple, kwargs: dict[str, Any] | None = None, arg_types: Any = None,
                       kwarg_types: Any = None, normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """Return a call's arguments with defaults filled in; None for a function without a usable signature."""
    return _normalized(as_written(target) if inspect.isfunction(target) else target, args, kwargs or {},
                       normalize_to_only_use_kwargs)


def normalize_module(root: Any, target: str, args: tuple, kwargs: dict[str, Any] | None = None,
                     normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """Return the normalized arguments of a submodule's call. See torch.fx.operator_schemas.normalize_module."""
    return _normalized(root.get_submodule(target).forward, args, kwargs or {}, normalize_to_only_use_kwargs)


def _normalized(called: Callable, args: tuple, kwargs: dict[str, Any], by_name: bool) -> ArgsKwargsPair | None:
    try:
        bound = inspect.signature(called).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    bound.apply_defaults()
    kinds = {p.kind for p in bound.signature.parameters.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        return None
    if by_name:
        return ArgsKwargsPair((), dict(bound.arguments))
    return ArgsKwargsPair(bound.args, bound.kwargs)
