"""torch.nn.attention.bias: causal masks for queries and keys of different lengths, as bool tensors."""
from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

import jtorch.dtype as dtypes
from jtorch._api import functions
from jtorch._api.torch_function import disabled
from jtorch.tensor import Tensor

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """The position of a causal mask's diagonal. See torch.nn.attention.bias.CausalVariant."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A causal mask (queries, keys) as a bool tensor, with its arguments. See torch.nn.attention.bias.CausalBias.

    Raises AssertionError if ``variant`` is not a CausalVariant.
    """

    __torch_function__: Any = classmethod(disabled)

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
        """Create the mask."""
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be an instance of CausalVariant, got {type(variant).__name__}")
        diagonal = 0 if variant is CausalVariant.UPPER_LEFT else seq_len_kv - seq_len_q
        made: Any = functions.ones(seq_len_q, seq_len_kv, dtype=dtypes.bool_).tril(diagonal).as_subclass(cls)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int):
        """Do nothing, since ``__new__`` creates the mask."""

    def __repr__(self) -> str:      # type: ignore[override]
        return repr(self.as_subclass(Tensor))       # type: ignore[attr-defined]


def _made(variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise RuntimeError(f"causal bias expects two sizes, got {len(size)}")
    return CausalBias(variant, *size)


def causal_upper_left(*size: int) -> CausalBias:
    """Return a mask (queries, keys) whose diagonal starts at the first query and key. See torch.nn.attention.bias."""
    return _made(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """Return a mask (queries, keys) whose diagonal ends at the last query and key. See torch.nn.attention.bias."""
    return _made(CausalVariant.LOWER_RIGHT, size)
