"""Random tensors for tests."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions
from jtorch._base import warned
from jtorch._base.dtype_info import finfo, iinfo
from jtorch.dtype import dtype as Dtype
from jtorch.dtype import named
from jtorch.tensor import Tensor

__all__ = ["make_tensor"]


def make_tensor(*shape: Any, dtype: Dtype, device: Any, low: float | None = None, high: float | None = None,
                requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
                memory_format: Any = None) -> Tensor:
    """Return a tensor of uniform numbers from ``[low, high)``, by default -9 to 9, 0 to 9 (uint8) or 0 to 1 (bool).

    ``noncontiguous`` leaves gaps between the elements, and ``exclude_zero`` replaces zeros. Raises ValueError if
    ``low`` is not less than ``high``, or if integers shall require a gradient. See torch.testing.make_tensor.
    """
    size = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    floating = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not floating:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
                         f"{noncontiguous=} and {memory_format=}")
    low, high = _limits(dtype, low, high)
    wide = (*size[:-1], 2 * size[-1]) if noncontiguous and size and math.prod(size) > 1 else size
    made = _drawn(wide, dtype, device, low, high)
    if wide != size:
        made = made[..., 1::2]
    if exclude_zero:
        made[made == 0] = 1 if not floating else finfo(dtype).tiny
    if memory_format is not None:
        made = made.clone(memory_format=memory_format)
    return made.requires_grad_(requires_grad)


def _limits(dtype: Dtype, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the limits of the numbers to draw, clamped to the dtype's range."""
    floating = dtype.is_floating_point or dtype.is_complex
    start, end = (0, 2) if dtype == named("bool") else (-9, 9 if floating else 10)
    low, high = start if low is None else low, end if high is None else high
    if any(isinstance(x, float) and math.isnan(x) for x in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and floating:
        warned.warn("Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
                    "and will be removed in 2.3. Use `torch.full(...)` instead.", FutureWarning)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    least, most = _range(dtype)
    if low != high and (high < least or low >= most):
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
                         f"[{least}, {most})")
    low, high = (min(max(x, least), most) for x in (low, high))
    return (low, high) if floating else (math.ceil(low), math.ceil(high))


def _range(dtype: Dtype) -> tuple[Any, Any]:
    """Return a dtype's range. For integers the upper limit is exclusive, except for int64."""
    if dtype == named("bool"):
        return 0, 2
    if dtype.is_floating_point or dtype.is_complex:
        return finfo(dtype).min, finfo(dtype).max
    return iinfo(dtype).min, iinfo(dtype).max + (dtype != named("int64"))


def _drawn(size: tuple, dtype: Dtype, device: Any, low: Any, high: Any) -> Any:
    if not (dtype.is_floating_point or dtype.is_complex):
        return functions.randint(int(low), int(high), size, device=device, dtype=dtype)
    small = dtype.itemsize == 1
    made = functions.empty(size, device=device, dtype=named("float32") if small else dtype)
    real = functions.view_as_real(made) if dtype.is_complex else made
    if high - low >= finfo(made.dtype).max:     # The range is larger than uniform_ accepts.
        real.uniform_(low / 2, high / 2).mul_(2)
    else:
        real.uniform_(low, high)
    return made.to(dtype) if small else made
