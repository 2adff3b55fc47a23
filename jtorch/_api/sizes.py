"""Arguments of type int, SymInt and lists of them: what PyTorch's argument parser takes, and its errors.

PyTorch's schemas say whether an argument is an int or a SymInt. An int may be an integer of Python or NumPy, or a 0-dim tensor
of integers. A SymInt may also be any object with ``__index__``, and a tensor of one element. No bool is either of them. The
first item of a list must be a SymInt. The others may also be bools.
"""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jtorch._api.argument_errors import type_name
from jtorch._base.aten_schemas import is_symbolic
from jtorch.ops import check
from jtorch.tensor import Tensor


def int_from(given: Any) -> int | None:
    """Return an int argument as an int, or None if PyTorch refuses the object."""
    if isinstance(given, Tensor):
        return given.item() if not given.dim() and given.dtype.np.kind in "iu" else None
    return int(given) if isinstance(given, (int, np.integer)) and not isinstance(given, bool) else None


def symint_from(given: Any, *, takes_bool_tensors: bool = False) -> int | None:
    """Return a SymInt argument as an int, or None if PyTorch refuses the object. Raise RuntimeError for a tensor of a bool."""
    if isinstance(given, (bool, np.bool_)):
        return None
    if isinstance(given, Tensor):
        return _element(given, takes_bool_tensors)
    return _index(given)


def _element(given: Tensor, takes_bools: bool) -> int | None:
    kind = given.dtype.np.kind
    if given.numel() != 1 or kind not in "iub":
        return None
    if kind == "b" and not takes_bools:
        raise RuntimeError("Expected scalar.isIntegral( false) to be true, but got false.")
    return int(given.item())


def _index(given: Any) -> int | None:
    try:
        return int(operator.index(given))
    except TypeError:
        return None


def begins_with_int(given: Sequence) -> bool:
    """Return whether the first item of a list is a SymInt."""
    return symint_from(given[0], takes_bool_tensors=True) is not None


def size_of(function: str, *given: Any) -> tuple[int, ...]:
    """Return the size argument of ``function``. Raise PyTorch's errors for negative sizes and for other types."""
    in_sequence = len(given) == 1 and isinstance(given[0], (list, tuple))
    return check.nonnegative(ints_of(given[0] if in_sequence else given, function, "size", 1, in_sequence))


def int_list_of(function: str, name: str, position: int, given: Any) -> tuple[int, ...]:
    """Return a list argument that no int can replace, as ints. Raise PyTorch's TypeError for other types."""
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"{function}(): argument '{name}' (position {position}) must be tuple of ints, not {type_name(given)}")
    return ints_of(given, function, name, position, True)


def ints_of(given: Sequence, function: str, name: str, position: int, in_sequence: bool = False) -> tuple[int, ...]:
    """Return a list argument as ints. ``in_sequence`` is False for ints that the caller gave one by one."""
    short = function.rpartition(".")[2]
    made = []
    for k, n in enumerate(given):
        if n.__class__ is not int:
            found = _item(short, name, k, n)
            if found is None:
                raise TypeError(_not_an_int(short, name, position, k, n, in_sequence, len(given)))
            n = found
        made.append(n)
    return tuple(made)


def _item(function: str, name: str, k: int, given: Any) -> int | None:
    if k and not isinstance(given, Tensor):
        return _index(given)        # A bool of Python has an index, and NumPy's bool has none.
    return symint_from(given, takes_bool_tensors=not is_symbolic(function, name))


def _not_an_int(function: str, name: str, position: int, k: int, n: Any, in_sequence: bool, count: int) -> str:
    """Return PyTorch's message for an item ``k`` that is no int."""
    kind = type_name(n)
    if not k and not in_sequence and count > 1:
        return f"{function}() takes 1 positional argument but {count} were given"
    if k:
        return (f"{function}(): argument '{name}' failed to unpack the object at pos {k + 1} with error "
                f'"type must be tuple of ints,but got {kind}"')
    found = f"but found element of type {kind} at pos 0" if in_sequence else f"not {kind}"
    return f"{function}(): argument '{name}' (position {position}) must be tuple of ints, {found}"
