"""The arguments of ``Module.to``."""
from __future__ import annotations

from typing import Any

import jtorch.device as devices
import jtorch.dtype as dtypes
from jtorch.tensor import Tensor

_FORMS = """
 * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
 * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
 * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
"""     # noqa: E501


def _is_dtype(x: Any) -> bool:
    return isinstance(x, dtypes.dtype) or (isinstance(x, type) and x in (float, int, bool, complex))


def _by_device(device=None, dtype=None, non_blocking=False, copy=False, *, memory_format=None):
    return device, dtype, non_blocking, copy, memory_format


def _by_dtype(dtype, non_blocking=False, copy=False, *, memory_format=None):
    return None, dtype, non_blocking, copy, memory_format


def _by_tensor(tensor, non_blocking=False, copy=False, *, memory_format=None):
    return tensor.device, tensor.dtype, non_blocking, copy, memory_format


def _given(args: tuple, kwargs: dict) -> str:
    def name(x: Any) -> str:
        return "torch.dtype" if _is_dtype(x) else "torch.device" if isinstance(x, devices.device) else type(x).__name__
    named = [f"{k}={name(v)}" for k, v in kwargs.items()]
    return f"({', '.join([*map(name, args), *named])}{', ' if named and not args else ''})"


def destination(args: tuple, kwargs: dict) -> tuple[Any, dtypes.dtype | None, Any]:
    """Return (device, dtype, memory_format) for the arguments of ``to``; raise TypeError if no signature fits."""
    first = args[0] if args else None
    by_dtype = _is_dtype(first) or (not args and "dtype" in kwargs and "device" not in kwargs)
    form = _by_tensor if isinstance(first, Tensor) or "tensor" in kwargs else _by_dtype if by_dtype else _by_device
    try:
        device, dtype, *flags, memory_format = form(*args, **kwargs)
    except TypeError:
        device, dtype, flags, memory_format = 0.5, None, [], None
    if isinstance(device, float) or not (dtype is None or _is_dtype(dtype)) or any([not isinstance(f, bool) for f in flags]):
        raise TypeError(f"to() received an invalid combination of arguments - got {_given(args, kwargs)}, but expected one "
                        f"of:{_FORMS}")
    return device, dtypes.as_dtype(dtype, "to"), memory_format
