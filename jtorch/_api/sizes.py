"""Sizes as a program gives them: ints one by one, or one sequence of them."""
from __future__ import annotations

from typing import Any

from jtorch.ops import check


def size_of(function: str, *given: Any) -> tuple[int, ...]:
    """The size that ``function`` was given, with PyTorch's errors for what is no int, or negative."""
    in_sequence = len(given) == 1 and isinstance(given[0], (list, tuple))
    size = tuple([_int(function, k, n, in_sequence) for k, n in enumerate(given[0] if in_sequence else given)])
    return check.nonnegative(size)


def _int(function: str, k: int, n: Any, in_sequence: bool) -> int:
    if n.__class__ is not int:
        if not hasattr(n, "__index__"):
            raise TypeError(not_an_int(function, "size", 1, k, n, in_sequence))
        n = n.__index__()
    return n


def not_an_int(function: str, name: str, position: int, k: int, n: Any, in_sequence: bool = False) -> str:
    """PyTorch's text where the ``k``-th of several ints is something else."""
    kind = type(n).__name__
    if k:
        return (f"{function}(): argument '{name}' failed to unpack the object at pos {k + 1} with error "
                f'"type must be tuple of ints,but got {kind}"')
    found = f"but found element of type {kind} at pos 0" if in_sequence else f"not {kind}"
    return f"{function}(): argument '{name}' (position {position}) must be tuple of ints, {found}"
