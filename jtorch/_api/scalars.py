"""Number arguments given as tensors. PyTorch accepts 0-dim tensors that do not require grad."""
from __future__ import annotations

from typing import Any

from jtorch._backward.view_history import requires_grad
from jtorch.tensor import Tensor


def number_of(value: Any, function: str, name: str, position: int) -> Any:
    """Return ``value``, or a tensor's number. Raise TypeError for other tensors."""
    if not isinstance(value, Tensor):
        return value
    if value.dim() or requires_grad(value):
        raise TypeError(f"{function}(): argument '{name}' (position {position}) must be float, not Tensor")
    return value.item()


def integer_of(value: Any, function: str) -> Any:
    """Return ``value``, or a tensor's integer. Raise TypeError for other tensors."""
    if not isinstance(value, Tensor):
        return value
    if value.dim() or value.is_floating_point() or value.is_complex():
        raise TypeError(f"{function}() received an invalid combination of arguments - got (int, Tensor), but integers are "
                        "expected")
    return value.item()
