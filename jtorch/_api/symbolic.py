"""torch.SymInt, SymFloat and SymBool: numbers that a compiler does not know yet. Sizes are plain here, so none is made."""
from __future__ import annotations

from typing import Any


class _Symbolic:
    def __init__(self, node: Any):
        raise NotImplementedError(f"torch.{type(self).__name__} is not built: sizes are plain numbers here, also under jax.jit.")


class SymInt(_Symbolic):
    """A whole number that is not known yet: no number is an instance."""


class SymFloat(_Symbolic):
    """A number that is not known yet: none is an instance."""


class SymBool(_Symbolic):
    """A truth that is not known yet: none is an instance."""
