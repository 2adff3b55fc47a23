"""torch.nested._internal.nested_int: sizes of ragged dims, which equal themselves and no number."""
from __future__ import annotations

import itertools
from typing import Any, NoReturn

from jtorch._api.symbolic import SymInt
from jtorch.tensor import Tensor
from jtorch.utils.weak import WeakIdKeyDictionary

_COUNTER = itertools.count()
_OF_TENSOR = WeakIdKeyDictionary()      # maps offsets or lengths to their nested int


class NestedInt(SymInt):
    """The size of a ragged dim, times a coefficient: ``j0`` or ``3*j0``. Two are equal if their ids and coefficients are."""

    __slots__ = ("coeff", "t_id")

    def __init__(self, t_id: int, coeff: int = 1):
        self.t_id, self.coeff = t_id, coeff

    def is_nested_int(self) -> bool:
        """Return True."""
        return True

    def __repr__(self) -> str:
        return f"j{self.t_id}" if self.coeff == 1 else f"{self.coeff}*j{self.t_id}"

    __str__ = __repr__

    def __hash__(self) -> int:
        return hash((self.t_id, self.coeff))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NestedInt) and (self.t_id, self.coeff) == (other.t_id, other.coeff)

    def __mul__(self, other: int) -> NestedInt:
        if type(other) is not int:
            raise ValueError(f"unsupported: {type(other)}")
        return NestedInt(self.t_id, self.coeff * other)

    __rmul__ = __mul__

    def __ge__(self, other: Any) -> bool:
        if isinstance(other, NestedInt) and other.t_id == self.t_id:
            return self.coeff >= other.coeff
        if type(other) is int and other <= 2:
            return True
        raise RuntimeError("ge: relation is indeterminate")

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __le__(self, other: Any) -> bool:
        if isinstance(other, NestedInt):
            return other >= self
        if type(other) is int and other < 2:
            return False
        raise RuntimeError("ge: relation is indeterminate")

    def __index__(self) -> NoReturn:
        raise TypeError(f"The size {self} of a ragged dim is no number: offsets().diff() has the sizes of the components.")

    __int__ = __bool__ = __index__      # type: ignore[assignment]


def of(source: Tensor) -> NestedInt:
    """Return the nested int of an offsets or lengths tensor; always the same one for a tensor."""
    found = _OF_TENSOR.get(source)
    return found if found is not None else share(source, NestedInt(next(_COUNTER)))


def share(source: Tensor, size: NestedInt) -> NestedInt:
    """Make ``size`` the nested int of a tensor, and return it."""
    _OF_TENSOR[source] = size
    return size
