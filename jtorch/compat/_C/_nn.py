"""torch._C._nn: functions that PyTorch defines in C++, and the arguments of ``Module.to``."""
from __future__ import annotations

from typing import Any

from jtorch._api import nn_functions as _functions
from jtorch._api.functions import _upsample_bilinear2d_aa as _upsample_bilinear2d_aa
from jtorch.device import device as _device_class
from jtorch.dtype import dtype as _dtype
from jtorch.tensor import Tensor as _Tensor


def _parse_to(*args: Any, **kwargs: Any) -> tuple:
    """Return (device, dtype, non_blocking, memory_format) from the arguments of ``to``."""
    found: dict[str, Any] = {"device": None, "dtype": None, "non_blocking": False, "memory_format": None, "copy": False, **kwargs}
    for given in args:
        if isinstance(given, _Tensor):
            found.update(device=given.device, dtype=given.dtype)
        elif isinstance(given, _dtype):
            found["dtype"] = given
        elif isinstance(given, bool):
            found["non_blocking"] = given
        elif given is not None:
            found["device"] = given
    if found.get("tensor") is not None:
        found.update(device=found["tensor"].device, dtype=found["tensor"].dtype)
    place = found["device"]
    if place is not None and not isinstance(place, _device_class):
        place = _device_class("cuda", place) if isinstance(place, int) else _device_class(place)
    return place, found["dtype"], found["non_blocking"], found["memory_format"]


def __getattr__(name: str) -> Any:
    return getattr(_functions, name)
