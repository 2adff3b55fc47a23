"""torch._jit_internal: decorators for TorchScript's compiler, which is absent, so they return functions unchanged."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from jtorch.futures import Future as Future

__all__ = ["Final", "Future"]


def _overload(func: Callable) -> Callable:
    """Return the function, which only declares an overload; calls reach the last definition. See torch.jit._overload."""
    return func


_overload_method = _copy_to_script_wrapper = _overload


def boolean_dispatch(arg_name: str, arg_index: int, default: bool, if_true: Callable, if_false: Callable, module_name: Any,
                     func_name: str) -> Callable:
    """Return a function that calls one of two, depending on an argument."""
    def call(*args: Any, **kwargs: Any) -> Any:
        chosen = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if chosen else if_false)(*args, **kwargs)
    call.__name__ = func_name
    return call


def is_scripting() -> bool:
    """Return False: TorchScript compiles nothing in jtorch."""
    return False
