"""Assertions in exported graphs on sizes, dtypes and numbers, such as ``torch._assert_tensor_metadata``."""
from __future__ import annotations

import sys
from typing import Any

from jtorch._base import late_bindings
from jtorch.device import device as Device
from jtorch.tensor import Tensor

_LIMITS = {"min": -2 ** 63, "max": sys.maxsize}


def _assert_tensor_metadata(a: Tensor, size: Any = None, stride: Any = None, dtype: Any = None, *, device: Any = None,
                            layout: Any = None) -> None:
    """Raise RuntimeError unless the tensor has the given properties. See torch.ops.aten._assert_tensor_metadata."""
    device = device if device is None else Device(device)
    for what, wanted, found in (("sizes", size, list(a.shape)), ("strides", stride, list(a.stride())), ("dtype", dtype, a.dtype),
                                ("device", device, a.device), ("layout", layout, a.layout)):
        if wanted is not None and (list(wanted) if what in ("sizes", "strides") else wanted) != found:
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {_said(wanted)}, Got: {_said(found)}")


def _said(value: Any) -> Any:
    return getattr(value, "scalar_name", value)


def _assert_scalar(self: Any, assert_msg: str) -> None:
    """Raise RuntimeError with ``assert_msg`` if the number is zero. See torch.ops.aten._assert_scalar."""
    if not self:
        raise RuntimeError(assert_msg)


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Raise RuntimeError unless ``size`` lies between ``min`` and ``max``. See torch.sym_constrain_range."""
    low, high = _LIMITS["min"] if min is None else min, _LIMITS["max"] if max is None else max
    if low > high:
        raise RuntimeError(f"Max must be greater than or equal to min. Got min={low} max={high}")
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


def sym_constrain_range_for_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Raise RuntimeError unless ``size`` is a valid size between ``min`` and ``max``. See torch.sym_constrain_range_for_size."""
    if max is not None and max <= 2:
        raise RuntimeError(f"Max value to constrain_range_for_size must be greater than 2. got: {max}")
    sym_constrain_range(size, min=0 if min is None else min, max=max)


def _is_all_true(self: Tensor) -> Tensor:
    """Return a tensor that is True if all elements are True."""
    seen = late_bindings.aten.function("_is_all_true", {"self": self}) if late_bindings.aten is not None else None
    return self.all() if seen is None else seen


def _is_any_true(self: Tensor) -> Tensor:
    """Return a tensor that is True if any element is True."""
    seen = late_bindings.aten.function("_is_any_true", {"self": self}) if late_bindings.aten is not None else None
    return self.any() if seen is None else seen
