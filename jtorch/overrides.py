"""torch.overrides: classes and modes that override functions by ``__torch_function__``."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Self

from jtorch._api import torch_function as protocol
from jtorch.tensor import Tensor

__all__ = ["TorchFunctionMode", "get_ignored_functions", "get_overridable_functions", "get_testing_overrides",
           "handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property", "resolve_name",
           "wrap_torch_function"]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether a mode is on, or an argument's class overrides functions. See torch.overrides.has_torch_function.

    >>> torch.overrides.has_torch_function((torch.ones(1), 2))
    False
    """
    if protocol.state.modes and not protocol.state.all_off:
        return True
    return not protocol.state.subclasses_off and bool(protocol.overloaded(relevant_args))


def has_torch_function_unary(arg: Any) -> bool:
    """Return ``has_torch_function`` of one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """Return ``has_torch_function`` of several arguments."""
    return has_torch_function(args)


def handle_torch_function(public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Return a call's result by the mode, or by the first class that does not return NotImplemented.

    See torch.overrides.handle_torch_function.

    Raises:
        TypeError: all of them return NotImplemented, or there is none.

    """
    made = protocol.ask(public_api, tuple(relevant_args), args, kwargs)
    if made is protocol.NOT_OVERRIDDEN:
        raise TypeError(f"Multiple dispatch failed for '{resolve_name(public_api)}'; no argument has a __torch_function__")
    return made


def wrap_torch_function(dispatcher: Callable) -> Callable:
    """Return a decorator: the function first checks the arguments from ``dispatcher`` for ``__torch_function__``.

    See torch.overrides.wrap_torch_function.
    """
    def decorate(func: Callable) -> Callable:
        @functools.wraps(func)
        def asking(*args, **kwargs):
            given = dispatcher(*args, **kwargs)
            return handle_torch_function(asking, given, *args, **kwargs) if has_torch_function(given) else func(*args, **kwargs)
        return asking
    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Return whether ``inp`` is a tensor or has ``__torch_function__``. See torch.overrides.is_tensor_like."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def _members() -> dict[str, Any]:
    return {name: member for name, member in vars(Tensor).items() if isinstance(member, (FunctionType, property))}


def is_tensor_method_or_property(func: Callable) -> bool:
    """Return whether ``func`` is a method of Tensor, or the accessor of a property.

    See torch.overrides.is_tensor_method_or_property.
    """
    methods = _members().values()
    return any(func is m for m in methods) or getattr(func, "__name__", "") in ("__get__", "__set__")


def _named(spaces: Iterable[tuple[str, Any]]) -> dict[Any, list[str]]:
    return {space: [name for name, f in vars(space).items() if isinstance(f, FunctionType) and protocol.is_overridable(name)]
            for _, space in spaces}


def get_overridable_functions() -> dict[Any, list[Callable]]:
    """Return the functions that can be overridden, by namespace.

    See torch.overrides.get_overridable_functions.
    """
    found = {space: [vars(space)[name] for name in names] for space, names in _named(protocol.SPACES.items()).items()}
    return {**found, Tensor: [m if isinstance(m, FunctionType) else m.__get__ for m in _members().values()]}


def get_default_nowrap_functions() -> set[Callable]:
    """Return functions whose results are not wrapped in subclasses.

    See torch.overrides.get_default_nowrap_functions.
    """
    return {vars(Tensor)[name].__get__ for name in ("_base", "grad", "_grad") if name in vars(Tensor)}


def get_ignored_functions() -> set[Callable]:
    """Return the public functions that cannot be overridden. See torch.overrides.get_ignored_functions."""
    return {f for space in protocol.SPACES.values() for name, f in vars(space).items()
            if isinstance(f, FunctionType) and not name.startswith("_") and not protocol.is_overridable(name)}


def get_testing_overrides() -> dict[Callable, Callable]:
    """Return, for each function that can be overridden, a function that accepts any arguments.

    See torch.overrides.get_testing_overrides.
    """
    return {f: (lambda *args, **kwargs: -1) for functions in get_overridable_functions().values() for f in functions}


def resolve_name(f: Callable) -> str | None:
    """Return the full name of a function that can be overridden, such as ``torch.nn.functional.relu``.

    See torch.overrides.resolve_name.
    """
    for prefix, space in protocol.SPACES.items():
        name = next((n for n, g in vars(space).items() if g is f), None)
        if name is not None:
            return ".".join(filter(None, ("torch", prefix, name)))
    for name, member in vars(Tensor).items():
        if member is f:
            return f"torch.Tensor.{name}"
        if isinstance(member, property) and f in (member.__get__, member.__set__):
            return f"torch.Tensor.{name}.{f.__name__}"
    return None


class TorchFunctionMode:
    """A mode whose ``__torch_function__`` receives every call of a function while the mode is on.

    See torch.overrides.TorchFunctionMode.

    Calls inside ``__torch_function__`` go to the modes around this one.

        >>> class Log(torch.overrides.TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return func(*args, **(kwargs or {}))
        >>> with Log():
        ...     y = torch.zeros(2) + 1
        zeros
        __add__
    """

    inner: TorchFunctionMode

    def __torch_function__(self, func: Callable, types: Iterable[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        """Handle a call. Subclasses define this method."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Turn the mode on in this thread."""
        self._entered = [*getattr(self, "_entered", ()), protocol.interception()]
        self._entered[-1].__enter__()
        protocol.state.modes.append(self)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        """Turn the mode off."""
        protocol.state.modes.pop()
        self._entered.pop().__exit__(None, None, None)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """Return a new mode, which the caller enters."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls the function unchanged."""

    def __torch_function__(self, func: Callable, types: Iterable[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        """Return the function's result."""
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> TorchFunctionMode | None:
    return protocol.state.modes[-1] if protocol.state.modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    return list(protocol.state.modes)


def enable_reentrant_dispatch() -> Any:
    """Return a block inside ``__torch_function__`` in which functions dispatch to classes and modes again.

    See torch.overrides.enable_reentrant_dispatch.
    """
    return protocol.switched_on()
