"""torch.masked: functions with a ``mask`` argument, which are generated from op records, and the class of masked tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jtorch.masked.maskedtensor.core import MaskedTensor as MaskedTensor
    from jtorch.masked.maskedtensor.core import is_masked_tensor as is_masked_tensor
    from jtorch.masked.maskedtensor.creation import as_masked_tensor as as_masked_tensor
    from jtorch.masked.maskedtensor.creation import masked_tensor as masked_tensor

_LAZY = {"MaskedTensor": "core", "is_masked_tensor": "core", "as_masked_tensor": "creation", "masked_tensor": "creation"}


def __getattr__(name: str) -> Any:
    import importlib
    if name in ("maskedtensor", "_ops"):
        return importlib.import_module(f"jtorch.masked.{name}")
    if name in ("_combine_input_and_mask", "_input_mask", "_output_mask"):
        return getattr(importlib.import_module("jtorch.masked._ops"), name)
    if name not in _LAZY:
        raise AttributeError(f"module 'torch.masked' has no attribute {name!r}")
    return getattr(importlib.import_module(f"jtorch.masked.maskedtensor.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY} - {"TYPE_CHECKING", "Any", "annotations"})
