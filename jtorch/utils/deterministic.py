"""torch.utils.deterministic: filling of new memory under deterministic algorithms."""
from __future__ import annotations

import sys
from types import ModuleType

from jtorch._base import deterministic as _deterministic
from jtorch._base.deterministic import set_fills


class _Module(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether torch.empty and similar functions fill their memory with NaN, or with the largest value of an integer
        dtype.
        """
        return _deterministic.Deterministic.fills

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        set_fills(mode)


sys.modules[__name__].__class__ = _Module

del _Module      # PyTorch's module does not have this name.
