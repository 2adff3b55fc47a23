"""The decorator by which PyTorch says whether a function keeps its signature."""
from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def compatibility(is_backward_compatible: bool) -> Callable[[T], T]:
    """Return a decorator that gives what it is given. See torch.fx._compatibility.compatibility."""
    return lambda fn: fn
