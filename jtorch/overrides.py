"""torch.overrides: the protocol by which other classes replace functions. Tensors' subclasses are not dispatched to here."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jtorch.tensor import Tensor

__all__ = ["handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property",
           "wrap_torch_function"]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """False: ``__torch_function__`` is not looked for. See torch.overrides.has_torch_function."""
    return False


def handle_torch_function(public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Not built. See torch.overrides.handle_torch_function."""
    raise NotImplementedError("__torch_function__ is not built")


def wrap_torch_function(dispatcher: Callable) -> Callable:
    """A decorator that gives the function itself. See torch.overrides.wrap_torch_function."""
    return lambda func: func


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or has ``__torch_function__``. See torch.overrides.is_tensor_like."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether it is a method of Tensor. See torch.overrides.is_tensor_method_or_property."""
    return getattr(Tensor, getattr(func, "__name__", ""), None) is func
