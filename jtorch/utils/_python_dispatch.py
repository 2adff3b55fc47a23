"""torch.utils._python_dispatch: modes that intercept operators below autograd, and helpers for classes that do."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from jtorch._aten import hooks  # noqa: F401  (its import lets modes see calls)
from jtorch._aten.stack import pop, push, state, without_modes
from jtorch.tensor import Tensor


class TorchDispatchMode:
    """Intercept the operators that a block calls, below autograd. See torch.utils._python_dispatch.TorchDispatchMode.

    A subclass defines ``__torch_dispatch__(self, func, types, args=(), kwargs=None)``. ``func`` is an overload of
    ``torch.ops.aten`` or of a registered operator. The mode is disabled within this method.

    Example:
        >>> class Names(torch.utils._python_dispatch.TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         print(func)
        ...         return func(*args, **(kwargs or {}))
        >>> with Names():
        ...     y = torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4))
        aten.ones.default
        aten.ones.default
        aten.ones.default
        aten.t.default
        aten.addmm.default

    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None):
        if _dispatch_key is not None:
            self.__dict__["_dispatch_key"] = _dispatch_key

    def __torch_dispatch__(self, func: Callable, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Handle an operator's call; subclasses define this method."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        push(self)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        pop()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a mode of this class; a deprecated way to enter it."""
        import warnings
        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Return whether the mode is one of PyTorch's internal modes."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that calls each operator unchanged."""

    def __torch_dispatch__(self, func: Callable, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Return whether a tensor wraps inner tensors: its class has ``__tensor_flatten__`` and ``__tensor_unflatten__``."""
    return is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Return whether instances of a class wrap inner tensors. See ``is_traceable_wrapper_subclass``."""
    return issubclass(t, Tensor) and t is not Tensor and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def transform_subclass(t: Any, callback: Callable, outer_size: Any = None, outer_stride: Any = None) -> Any:
    """Return a tensor of the same class, with each inner tensor replaced by ``callback(name, tensor)``."""
    names, context = t.__tensor_flatten__()
    made = {name: callback(name, getattr(t, name)) for name in names}
    return type(t).__tensor_unflatten__(made, context, outer_size or t.size(), outer_stride or t.stride())


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return whether a mode is active in this thread."""
    return any(include_infra_modes or not m.is_infra_mode() for m in state.modes)


is_in_any_mode_without_ignore_compile_internals = is_in_torch_dispatch_mode


def any_torch_dispatch_mode_on_stack(*, include_infra_modes: bool = True) -> bool:
    """Return whether a mode is active in this thread."""
    return is_in_torch_dispatch_mode(include_infra_modes)


def _get_current_dispatch_mode() -> Any:
    """Return the innermost mode; None if no mode is active."""
    return state.modes[-1] if state.modes else None


def _get_current_dispatch_mode_stack() -> list:
    """Return the modes that are active in this thread, the innermost last."""
    return list(state.modes)


def _pop_mode(k: Any = None) -> Any:
    """Leave the innermost mode, and return it."""
    return pop()


def _push_mode(mode: TorchDispatchMode) -> None:
    """Enter a mode."""
    push(mode)


@contextlib.contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """Disable the innermost mode in this block."""
    old = pop()
    try:
        yield old
    finally:
        push(old)


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list]:
    """Disable all modes in this block, and yield them."""
    with without_modes() as modes:
        yield list(modes)


def autograd_would_have_decomposed(func: Any, flat_args: Any) -> bool:
    """Return whether autograd decomposes an operator before a mode sees it."""
    return func._can_decompose() and any(isinstance(t, Tensor) and t.requires_grad for t in flat_args)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """Return the arguments that an operator writes to, instead of ``out``, which a ``__torch_dispatch__`` has returned.

    If the operator's schema says that the operator writes to no argument, return ``out``.
    """
    schema = func._schema
    named = dict(zip([a.name for a in schema.arguments], args, strict=False)) | dict(kwargs or {})
    written = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    if not written or not isinstance(out, (Tensor, list, tuple)):
        return out
    given = [named.get(a.name) for a in written]
    if isinstance(out, Tensor):
        return given[0]
    return type(out)(given) if len(given) == len(out) else out
