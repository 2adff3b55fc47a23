"""torch.SymInt, SymFloat and SymBool: symbolic numbers. Only sizes of ragged dims are symbolic; other sizes are plain ints."""
from __future__ import annotations

from typing import Any


class _Symbolic:
    def __init__(self, node: Any):
        raise NotImplementedError(f"torch.{type(self).__name__} is not built: sizes are plain numbers here, also under jax.jit.")


class SymInt(_Symbolic):
    """A symbolic integer. Its only instances are the sizes of ragged dims of nested tensors."""


class SymFloat(_Symbolic):
    """A symbolic number. It has no instances."""


class SymBool(_Symbolic):
    """A symbolic bool. It has no instances."""
