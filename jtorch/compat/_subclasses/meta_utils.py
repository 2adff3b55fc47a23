"""torch._subclasses.meta_utils: conversion of tensors to meta tensors."""
from __future__ import annotations

from typing import Any

from jtorch.tensor import Tensor


class MetaConverter:
    """Converts a tensor to one of its shape, dtype and strides on the device ``meta``."""

    def meta_tensor(self, t: Tensor, **kwargs: Any) -> Tensor:
        """Return the tensor on ``meta``."""
        return t.to("meta")

    def __call__(self, t: Any, **kwargs: Any) -> Any:
        return self.meta_tensor(t) if isinstance(t, Tensor) else t
