"""Who takes over an operator: the innermost mode, else the classes of its arguments."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jtorch._aten.stack import below_autograd, state, switched_off
from jtorch._library.namespaces import OpOverload
from jtorch.tensor import Parameter, Tensor

_PLAIN = {Tensor, Parameter}
_found: dict[type, bool] = {}


def disabled(cls: type, func: Any, types: Iterable, args: tuple = (), kwargs: dict | None = None) -> Any:
    """What a subclass names as its ``__torch_dispatch__`` that wants none."""
    with switched_off():
        return func(*args, **(kwargs or {}))


def has_handler(cls: type) -> bool:
    """Whether a class takes over operators."""
    if cls in _PLAIN:
        return False
    found = _found.get(cls)
    if found is None:
        handler = getattr(cls, "__torch_dispatch__", None) if issubclass(cls, Tensor) else None
        found = _found[cls] = handler is not None and getattr(handler, "__func__", handler) is not disabled
    return found


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """The tensors among values and in lists among them."""
    for v in values:
        if isinstance(v, Tensor):
            yield v
        elif v.__class__ in (list, tuple):
            yield from tensors_in(v)


def takes_over(values: Iterable[Any]) -> bool:
    """Whether a mode or a class takes over what is done with these."""
    if state.off:
        return False
    return bool(state.modes) or has_taker(values)


def has_taker(values: Iterable[Any]) -> bool:
    """Whether the class of a tensor among values takes over operators."""
    return any([has_handler(t.__class__) for t in tensors_in(values)])


def _takers(args: tuple, kwargs: dict) -> list[Tensor]:
    """The arguments whose classes take over, one a class: subclasses before their bases, else from left to right."""
    found: list[Tensor] = []
    for t in tensors_in([*args, *kwargs.values()]):
        cls = t.__class__
        if has_handler(cls) and all([cls is not f.__class__ for f in found]):
            at = next((i for i, f in enumerate(found) if issubclass(cls, f.__class__)), len(found))
            found.insert(at, t)
    return found


def ask(func: OpOverload, args: tuple, kwargs: dict) -> Any:
    """What the innermost mode, or the first class that does not decline, makes of an operator's call."""
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
    raise TypeError(f"Multiple dispatch failed for 'torch.ops.{func}'; all __torch_dispatch__ handlers returned NotImplemented:"
                    f"\n\n{''.join(asked)}\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def _ask_mode(func: OpOverload, types: tuple, args: tuple, kwargs: dict) -> tuple[Any, Any]:
    """What the innermost mode makes of a call; what it calls itself is for the modes around it."""
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
