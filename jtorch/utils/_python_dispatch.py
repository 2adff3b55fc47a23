"""torch.utils._python_dispatch: code that takes over calls beneath autograd, where there is nothing in Python here."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

_INSTEAD = ("is not built: beneath autograd a call goes to JAX; torch.overrides.TorchFunctionMode takes over the functions that "
            "a program calls.")


class TorchDispatchMode:
    """A block whose operations a class takes over beneath autograd: entering it raises. See torch.utils._python_dispatch."""

    def __init__(self, _dispatch_key: Any = None):
        """Nothing: subclasses can be defined and made."""

    def __torch_dispatch__(self, func: Callable, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """For subclasses to define."""
        raise NotImplementedError

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(f"torch.utils._python_dispatch.TorchDispatchMode {_INSTEAD}")

    def __exit__(self, *exc_info: object) -> None:
        """Nothing."""


BaseTorchDispatchMode = TorchDispatchMode


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor says what tensors it is made of, by ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    return is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """The same, of a class."""
    from jtorch.tensor import Tensor
    return issubclass(t, Tensor) and t is not Tensor and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def transform_subclass(t: Any, callback: Callable, outer_size: Any = None, outer_stride: Any = None) -> Any:
    """A tensor of the same class, of what ``callback(name, tensor)`` gives for each that it is made of."""
    names, context = t.__tensor_flatten__()
    made = {name: callback(name, getattr(t, name)) for name in names}
    return type(t).__tensor_unflatten__(made, context, outer_size or t.size(), outer_stride or t.stride())


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """False: no mode can be entered."""
    return False


any_torch_dispatch_mode_on_stack = is_in_torch_dispatch_mode


def _get_current_dispatch_mode() -> None:
    return None


def _get_current_dispatch_mode_stack() -> list:
    return []


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list]:
    yield []


def return_and_correct_aliasing(func: Callable, args: Any, kwargs: Any, out: Any) -> NoReturn:
    """Not built."""
    raise NotImplementedError(f"torch.utils._python_dispatch.return_and_correct_aliasing {_INSTEAD}")
