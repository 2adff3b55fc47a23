"""The dispatch of an operator to the innermost mode, else to the classes of its arguments."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jtorch._aten.stack import below_autograd, state, switched_off
from jtorch._library.namespaces import OpOverload
from jtorch.tensor import Parameter, Tensor

_PLAIN = {Tensor, Parameter}
_found: dict[type, bool] = {}


def disabled(cls: type, func: Any, types: Iterable, args: tuple = (), kwargs: dict | None = None) -> Any:
    """Call ``func`` without asking classes. Subclasses assign this as ``__torch_dispatch__`` to disable it."""
    with switched_off():
        return func(*args, **(kwargs or {}))


def has_handler(cls: type) -> bool:
    """Return whether a class has an enabled ``__torch_dispatch__``."""
    if cls in _PLAIN:
        return False
    found = _found.get(cls)
    if found is None:
        handler = getattr(cls, "__torch_dispatch__", None) if issubclass(cls, Tensor) else None
        found = _found[cls] = handler is not None and getattr(handler, "__func__", handler) is not disabled
    return found


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """Yield the tensors among ``values`` and in nested lists."""
    for v in values:
        if isinstance(v, Tensor):
            yield v
        elif v.__class__ in (list, tuple):
            yield from tensors_in(v)


def takes_over(values: Iterable[Any]) -> bool:
    """Return whether a mode, or the class of a tensor among ``values``, takes over operators."""
    if state.off:
        return False
    return bool(state.modes) or has_taker(values)


def has_taker(values: Iterable[Any]) -> bool:
    """Return whether the class of a tensor among ``values`` takes over operators."""
    return any([has_handler(t.__class__) for t in tensors_in(values)])


def _takers(args: tuple, kwargs: dict) -> list[Tensor]:
    """Return one argument for each class with ``__torch_dispatch__``: subclasses before bases, else from left to right."""
    found: list[Tensor] = []
    for t in tensors_in([*args, *kwargs.values()]):
        cls = t.__class__
        if has_handler(cls) and all([cls is not f.__class__ for f in found]):
            at = next((i for i, f in enumerate(found) if issubclass(cls, f.__class__)), len(found))
            found.insert(at, t)
    return found


def ask(func: OpOverload, args: tuple, kwargs: dict) -> Any:
    """Return an operator's result from the innermost mode, or from the first class that does not decline."""
    takers = _takers(args, kwargs)
    if state.off or not (state.modes or takers):
        return func._record.run(args, kwargs)
    types = tuple([t.__class__ for t in takers])
    asked: list[str] = []
    if state.modes:
        made, mode = _ask_mode(func, types, args, kwargs)
        if made is not NotImplemented:
            return made
        asked.append(f"  - mode object {mode}\n")
    for t in takers:
        cls: Any = t.__class__
        rule = func._record.rules.get(cls)
        with below_autograd():
            made = cls.__torch_dispatch__(func, types, args, kwargs) if rule is None else rule(cls, func, types, args, kwargs)
        if made is not NotImplemented:
            return made
        asked.append(f"  - tensor subclass {t.__class__}\n")
    raise TypeError(f"Multiple dispatch failed for 'torch._ops.{func}'; all __torch_dispatch__ handlers returned NotImplemented:"
                    f"\n\n{''.join(asked)}\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def _ask_mode(func: OpOverload, types: tuple, args: tuple, kwargs: dict) -> tuple[Any, Any]:
    """Return (the innermost mode's result, the mode). Operators that the mode calls go to the outer modes."""
    modes, mode = state.modes, state.modes[-1]
    rule = func._record.rules.get(type(mode))
    state.modes = modes[:-1]
    try:
        with below_autograd():
            if rule is not None:
                return rule(mode, func, types, args, kwargs), mode
            return mode.__torch_dispatch__(func, types, args, kwargs), mode
    finally:
        state.modes = modes
