"""torch.autocast: mixed precision. Matrix products run in a lower precision, and sensitive ops in float32."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import numpy as np

import jtorch.dtype as dtypes
from jtorch import cuda
from jtorch._api import functions
from jtorch._api.names import put
from jtorch._base import warned
from jtorch.amp import state as states
from jtorch.amp.state import check_type, state
from jtorch.tensor import Tensor

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]


def is_autocast_available(device_type: str) -> bool:
    """Return whether autocast supports a device type. See torch.amp.is_autocast_available.

    Args:
        device_type (str): "cpu", "cuda", ...

    Returns:
        a bool.

    Raises:
        TypeError: ``device_type`` is no string.
        RuntimeError: there is no such type.

    Example::

        >>> torch.amp.is_autocast_available("cpu")
        True

    """
    return check_type("_is_autocast_available", device_type) in states.AVAILABLE


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Return whether autocast is on in this thread, by default for ``cuda``. See torch.is_autocast_enabled."""
    return check_type("is_autocast_enabled", "cuda" if device_type is None else device_type) in state.enabled


def set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
    """Turn autocast on or off: ``(device_type, enabled)``, or ``(enabled)`` for cuda.

    See torch.set_autocast_enabled.
    """
    given = [*args, *(kwargs[k] for k in ("device_type", "enabled") if k in kwargs)]
    device_type, enabled = given if len(given) == 2 else ("cuda", given[0])
    if not isinstance(enabled, bool):
        raise TypeError(f"set_autocast_enabled(): argument 'enabled' (position {len(given)}) must be bool, not "
                        f"{type(enabled).__name__}")
    states.enable(_available("set_autocast_enabled", device_type), enabled)


def _available(function: str, device_type: str) -> str:
    kind = check_type(function, device_type)
    if kind not in states.AVAILABLE:
        raise RuntimeError("unsupported scalarType" if "dtype" in function else f"unknown device type for autocast in {function}")
    return kind


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """Return the lower precision of a device type. See torch.get_autocast_dtype."""
    return state.dtypes[_available("get_autocast_dtype", device_type)]


def set_autocast_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    """Set the lower precision of a device type in this thread. See torch.set_autocast_dtype."""
    state.dtypes[_available("set_autocast_dtype", device_type)] = dtype


def is_autocast_cache_enabled() -> bool:
    """Return whether autocast caches its casts of weights. See torch.is_autocast_cache_enabled."""
    return state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Choose whether autocast caches its casts of weights. See torch.set_autocast_cache_enabled."""
    state.cache_enabled = bool(enabled)


def clear_autocast_cache() -> None:
    """Drop the cached casts of weights. See torch.clear_autocast_cache."""
    state.cache.clear()


def autocast_increment_nesting() -> int:
    """Increment the nesting depth of autocast blocks, and return it. See torch.autocast_increment_nesting."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """Decrement the nesting depth of autocast blocks, and return it. See torch.autocast_decrement_nesting."""
    state.nesting -= 1
    return state.nesting


class autocast:  # noqa: N801
    """Mixed precision, as a context manager or a decorator. See torch.autocast.

    Products (``matmul``, ``conv2d``, ``linear``, …) cast their arguments to the lower precision. Losses and other ops
    that need precision cast them to float32. ``cat`` and similar ops cast to the widest dtype of their arguments. All
    other ops, in-place calls and ``out=`` calls cast nothing. Each thread has its own state.

    Args:
        device_type: ``"cpu"``, ``"cuda"``, …; only tensors on devices of this type are cast.
        dtype: the lower precision; ``get_autocast_dtype(device_type)`` if None.
        enabled: False turns autocast off inside another block.
        cache_enabled: whether to cache casts of leaves that require a gradient until the outermost block ends. A weight that is
            written to in the meantime is cast again.

    Raises:
        ValueError: ``device_type`` is no string.
        RuntimeError: autocast does not support ``device_type``.

    Example::

        >>> import jtorch as torch
        >>> a = torch.rand(2, 2)
        >>> with torch.autocast("cpu"):
        ...     b = a @ a
        ...     c = b.sum() + a.sum()
        >>> b.dtype, c.dtype
        (torch.bfloat16, torch.float32)

    """

    def __init__(self, device_type: str, dtype: dtypes.dtype | None = None, enabled: bool = True,
                 cache_enabled: bool | None = None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = state.cache_enabled if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled) and self._possible()
        self._outer: list[tuple] = []       # The settings to restore, one entry for each open block.

    def _possible(self) -> bool:
        """Return whether autocast can be on; warn if not."""
        if self.device == "cuda":
            if not cuda.is_available():
                warned.warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
            return cuda.is_available()
        if self.fast_dtype in (dtypes.bfloat16, dtypes.float16):
            return True
        name = self.device.upper()
        warned.warn(f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only "
                    "supports dtypes of torch.bfloat16, torch.float16 currently.")
        return False

    def __enter__(self):
        self._outer.append((self.device in state.enabled, state.dtypes[self.device], state.cache_enabled))
        states.enable(self.device, self._enabled)
        state.dtypes[self.device], state.cache_enabled = self.fast_dtype, self._cache_enabled
        autocast_increment_nesting()
        return self

    def __exit__(self, *exc: object) -> Literal[False]:
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        enabled, state.dtypes[self.device], state.cache_enabled = self._outer.pop()
        states.enable(self.device, enabled)
        return False

    def __call__(self, func: Callable) -> Callable:
        if not callable(func):
            raise TypeError(f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast "
                            "as a context manager? For example:\n    with torch.autocast(device_type=...):\n        output = "
                            "model(input)")
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: autocast, func: Callable) -> Callable:
    """Wrap ``func`` in an autocast block."""
    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)
    return run


def _enter_autocast(*args: Any) -> autocast:
    """Enter an autocast block, which ``_exit_autocast`` ends."""
    return autocast(*args).__enter__()


def _exit_autocast(mode: autocast) -> None:
    mode.__exit__(None, None, None)


# ---------------------------------------------------------------- custom autograd functions

def _cast(value: Any, device_type: str, dtype: dtypes.dtype) -> Any:
    """Cast tensors, also in containers, to ``dtype`` if autocast would cast them."""
    if isinstance(value, Tensor):
        return value.to(dtype) if states.eligible(value, device_type) else value        # type: ignore[attr-defined]
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, Iterable):
        made = (_cast(v, device_type, dtype) for v in value)
        return type(value)(made) if isinstance(value, (list, tuple)) else made      # type: ignore[call-arg]
    return value


def _check_string(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: dtypes.dtype | None = None) -> Any:
    """Decorate the ``forward`` of a ``torch.autograd.Function``. See torch.amp.custom_fwd.

    Inside autocast, ``cast_inputs`` casts floating-point inputs to this dtype, and ``forward`` runs with autocast off.

    Args:
        fwd: the function ``forward(ctx, ...)``; without it, a decorator is returned.
        device_type (str): the device type whose autocast is meant.
        cast_inputs (dtype or None): the dtype to which floating point arguments are cast.

    Returns:
        the decorated function.

    Raises:
        ValueError: ``device_type`` is no string.

    Example::

        >>> class Product(torch.autograd.Function):
        ...     @staticmethod
        ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        ...     def forward(ctx, a, b):
        ...         return a @ b
        >>> with torch.autocast("cpu"):
        ...     Product.apply(torch.ones(2, 2), torch.ones(2, 2)).dtype
        torch.float32

    """
    _check_string(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def run(*args: Any, **kwargs: Any) -> Any:
        ctx, on = args[0], is_autocast_enabled(device_type)
        ctx._dtype, ctx._fwd_used_autocast = get_autocast_dtype(device_type), on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))
    return run


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Any:
    """Decorate the ``backward`` of a Function whose ``forward`` has ``custom_fwd``: both run in the same autocast
    state.

    Args:
        bwd: the function ``backward(ctx, *grads)``; without it, a decorator is returned.
        device_type (str): the device type whose autocast is meant.

    Returns:
        the decorated function.

    Raises:
        ValueError: ``device_type`` is no string.

    Example::

        >>> class Twice(torch.autograd.Function):
        ...     @staticmethod
        ...     @torch.amp.custom_fwd(device_type="cpu")
        ...     def forward(ctx, a):
        ...         return a * 2
        ...     @staticmethod
        ...     @torch.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         return grad * 2
        >>> x = torch.ones(1, requires_grad=True)
        >>> Twice.apply(x).backward()
        >>> x.grad
        tensor([2.])

    """
    _check_string(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def run(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)
    return run


# ---------------------------------------------------------------- torch.*

def _of(device_type: str) -> dict[str, Callable]:
    """Return the older functions for one device type, such as ``torch.is_autocast_cpu_enabled``."""
    name, shown = ("cuda", "gpu") if device_type == "gpu" else (device_type, device_type)
    return {f"{what}_autocast_{shown}_{of}": _deprecated(f"{what}_autocast_{shown}_{of}", f, name) for what, of, f in (
        ("is", "enabled", is_autocast_enabled), ("set", "enabled", set_autocast_enabled), ("get", "dtype", get_autocast_dtype),
        ("set", "dtype", set_autocast_dtype)) if shown != "gpu" or of == "dtype"}


def _deprecated(old: str, function: Callable, device_type: str) -> Callable:
    def call(*args: Any) -> Any:
        given = ", ".join([f"'{device_type}'", *(["dtype"] if old.endswith("dtype") else ["enabled"])][:1 + len(args)])
        warned.warn(f"torch.{old}({'' if not args else given.split(', ')[1]}) is deprecated. Please use "
                    f"torch.{function.__name__}({given}) instead.", DeprecationWarning)
        return function(device_type, *args)
    call.__name__ = call.__qualname__ = old
    call.__doc__ = f"{function.__name__} of {device_type}. See torch.{old}."
    return call


def bind() -> None:
    """Add the functions of this file to the package ``torch``."""
    put(functions, {f.__name__: f for f in (
        autocast, autocast_decrement_nesting, autocast_increment_nesting, clear_autocast_cache, get_autocast_dtype,
        is_autocast_cache_enabled, is_autocast_enabled, set_autocast_cache_enabled, set_autocast_dtype, set_autocast_enabled)})
    for device_type in ("cpu", "gpu", "ipu", "xla"):
        put(functions, _of(device_type))
