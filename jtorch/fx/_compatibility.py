"""PyTorch's decorator that says whether a function keeps its signature."""
from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def compatibility(is_backward_compatible: bool) -> Callable[[T], T]:
    """Return a decorator that returns the function unchanged. See torch.fx._compatibility.compatibility."""
    return lambda fn: fn
