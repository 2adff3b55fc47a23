"""Size arguments: separate ints, or a sequence of ints."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jtorch.ops import check


def size_of(function: str, *given: Any) -> tuple[int, ...]:
    """Return the size argument of ``function``. Raise PyTorch's errors for negative sizes and for other types."""
    in_sequence = len(given) == 1 and isinstance(given[0], (list, tuple))
    return check.nonnegative(ints_of(given[0] if in_sequence else given, function, "size", 1, in_sequence))


def ints_of(given: Sequence, function: str, name: str, position: int, in_sequence: bool = False) -> tuple[int, ...]:
    """Return an argument of ``function`` as ints. Tensors of one element become numbers."""
    made = []
    for k, n in enumerate(given):
        if n.__class__ is not int:
            if not hasattr(n, "__index__"):
                raise TypeError(_not_an_int(function.split(".")[-1], name, position, k, n, in_sequence))
            n = n.__index__()
        made.append(n)
    return tuple(made)


def _not_an_int(function: str, name: str, position: int, k: int, n: Any, in_sequence: bool) -> str:
    """Return PyTorch's message for an item ``k`` that is no int."""
    kind = type(n).__name__
    if k:
        return (f"{function}(): argument '{name}' failed to unpack the object at pos {k + 1} with error "
                f'"type must be tuple of ints,but got {kind}"')
    found = f"but found element of type {kind} at pos 0" if in_sequence else f"not {kind}"
    return f"{function}(): argument '{name}' (position {position}) must be tuple of ints, {found}"
