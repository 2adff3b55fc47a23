"""torch._check and related functions: assertions of a program, with PyTorch's exception types."""
from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from jtorch._api import functions
from jtorch._base import warned
from jtorch.tensor import Tensor

_NO_MESSAGE = ("Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
               "enhancement request to PyTorch.)")


def _check_with(error_type: Any, cond: builtins.bool, message: Any) -> None:
    """Raise ``error_type`` with the text of ``message()`` unless ``cond`` is True. See torch._check_with."""
    if isinstance(cond, Tensor):
        raise TypeError("cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert "
                        "that all elements are true.")
    if not isinstance(cond, builtins.bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type(_NO_MESSAGE)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _checking(name: str, error_type: type[Exception]) -> Callable:
    def check(cond: Any, message: Any = None) -> None:
        _check_with(error_type, cond, message)
    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raises {error_type.__name__} unless ``cond``; ``message()`` gives its text. See torch.{name}."
    return check


_check, _check_index = _checking("_check", RuntimeError), _checking("_check_index", IndexError)
_check_value, _check_type = _checking("_check_value", ValueError), _checking("_check_type", TypeError)
_check_not_implemented = _checking("_check_not_implemented", NotImplementedError)


def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    """Raise RuntimeError unless ``i`` is a valid size. See torch._check_is_size."""
    warned.warn("_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious.     "
                "Use _check(i >= 0) instead.", FutureWarning)
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type: Any, cond: Any, message: Any = None) -> None:
    """Raise ``error_type`` unless all elements are True. See torch._check_tensor_all_with."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype.name != "bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, functions.all(cond).item(), message)


def _check_tensor_all(cond: Any, message: Any = None) -> None:
    """Raise RuntimeError unless all elements are True. See torch._check_tensor_all."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raise RuntimeError if the only element is zero. See torch._assert_async."""
    many = "Boolean value of Tensor with {} is ambiguous"
    if input.numel() != 1:
        raise RuntimeError(many.format("more than one value" if input.numel() else "no values"))
    if not input.item():
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")
