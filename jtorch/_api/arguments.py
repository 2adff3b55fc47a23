"""Conversion of unusual arguments of generated functions: subclasses, NumPy's numbers, lists and other names."""
from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np

from jtorch._api.argument_aliases import first_given
from jtorch._api.argument_errors import (
    MISSING,
    Odd,
    fits_several,
    has_overloads,
    invalid_combination,
    not_a,
    public_name,
    type_name,
)
from jtorch._api.sizes import begins_with_int, int_from, ints_of, symint_from
from jtorch._api.torch_function import NOT_OVERRIDDEN, overrides_of
from jtorch._base.aten_schemas import is_symbolic
from jtorch.ops.registry import NUMBERS, Op, T, freeze, frozen_float
from jtorch.tensor import Tensor, class_of


def tensor_of(op: Op, name: str, position: int, given: Any, *others: Any):
    """Return a tensor argument that is of a subclass or was given under another name. Raise PyTorch's TypeError otherwise."""
    if given is MISSING:
        given = first_given(op, name, given, others)
    if isinstance(given, Tensor):
        return given
    if has_overloads(op):
        raise invalid_combination(op, sys._getframe(1))
    raise not_a(given, "Tensor", op, name, position)


def operand_of(op: Op, name: str, position: int, given: Any, *others: Any):
    """Return (argument, marker) for an operand that is neither a plain tensor nor a plain number."""
    if given is MISSING:
        given = first_given(op, name, given, others)
    if isinstance(given, Tensor):
        return given, T
    if isinstance(given, np.generic):
        given = float(given) if isinstance(given, np.bool_) else given.item()       # for PyTorch only Python's bools are bools
    wants_number = any(p.name == name and p.kind == "number" for p in op.params)
    if wants_number and isinstance(given, complex) and not given.imag and not op.creates:
        given = given.real      # 2+0j must not make a real tensor complex
    for kind in (bool, int, float, complex):
        if isinstance(given, kind):
            return kind(given), NUMBERS[kind]       # type: ignore[arg-type]
    if given is None and any(p.name == name and "None" in p.annotation for p in op.params):
        return None, None
    if not (wants_number or op.numbers_only) and has_overloads(op):
        raise invalid_combination(op, sys._getframe(1))
    raise not_a(given, "Number" if wants_number else "Tensor", op, name, position)


def static_of(given: Any):
    """Return a static argument in hashable form. Tensors of one element become numbers."""
    if given.__class__ is float:
        return frozen_float(given)
    if isinstance(given, Tensor):
        return freeze(class_of(given).tolist(given))
    if isinstance(given, (list, tuple)):
        return tuple([x if x.__class__ is int else static_of(x) for x in given])
    if isinstance(given, np.ndarray):
        return freeze(given.tolist())
    return freeze(given) if given.__class__.__hash__ is not None else Odd(given)


def flag_of(op: Op, name: str, position: int, given: Any) -> bool:
    """Return a bool argument, possibly given under another name. Raise TypeError for other types, including NumPy's bool."""
    given = first_given(op, name, given)
    if given.__class__ is not bool:
        raise _refused(op, name, position, given, "bool", sys._getframe(1))
    return given


def list_of(op: Op, name: str, position: int, given: Any, flat: list, asked: bool = False):
    """Append a sequence's tensors to ``flat`` and return their template, or NOT_OVERRIDDEN if a class must be asked first."""
    given = first_given(op, name, given)
    if (given.__class__ is list or given.__class__ is tuple) and not [t for t in given if t.__class__ is not Tensor]:
        flat += given
        return (T,) * len(given)
    if isinstance(given, Tensor) or not isinstance(given, (list, tuple)):
        if isinstance(given, Tensor) or not hasattr(given, "__iter__"):
            raise not_a(given, "tuple of Tensors", op, name, position)
        given = list(given)
    if not asked and any([t.__class__ is not Tensor and overrides_of(t.__class__) is not None for t in given]):
        return NOT_OVERRIDDEN
    marks: list = []
    for k, t in enumerate(given):
        if isinstance(t, Tensor):
            flat.append(t)
            marks.append(T)
        elif t is None and "None" in next(p.annotation for p in op.params if p.name == name):
            marks.append(None)
        elif t.__class__ in NUMBERS and name != "tensors":
            flat.append(t)
            marks.append(NUMBERS[t.__class__])
        elif isinstance(t, (list, tuple)):
            marks.append(list_of(op, name, position, t, flat, True))
        else:
            raise TypeError(f"expected Tensor as element {k} in argument {position - 1}, but got {type_name(t)}")
    return tuple(marks)


def spelled_out(spelled: tuple, keyword: Any, op: Op | None = None, name: str = ""):
    """Return ints (or tensors) given one by one or as a sequence. With ``op``, raise TypeError if none is given."""
    if op is not None and not spelled and keyword is None:
        raise TypeError(f'{op.name}() missing 1 required positional arguments: "{name}"')
    if keyword is not None:
        return keyword
    if len(spelled) == 1 and isinstance(spelled[0], (list, tuple)):
        return tuple(spelled[0])
    return spelled


# ---------------------------------------------------------------- ints and lists of ints

def sizes_of(op: Op, name: str, position: int, given: Any, spelled: tuple = ()) -> tuple[int, ...]:
    """Return the ints of a size. ``spelled`` has the arguments given one by one, or as one sequence."""
    given = first_given(op, name, given)
    one_by_one = bool(spelled) and not isinstance(spelled[0], (list, tuple))
    return _ints(op, name, position, given, sys._getframe(1), not one_by_one)


def int_of(op: Op, name: str, position: int, given: Any) -> int:
    """Return an int argument that is no plain int. Raise TypeError for types that PyTorch refuses."""
    given = first_given(op, name, given)
    found = int_from(given)
    if found is None and is_symbolic(public_name(op), name):
        found = symint_from(given)
    if found is None:
        raise _refused(op, name, position, given, "int", sys._getframe(1))
    return found


def dims_of(op: Op, name: str, position: int, given: Any) -> int | tuple[int, ...]:
    """Return a list of ints, or the int given in its place. Raise TypeError for types that PyTorch refuses."""
    given = first_given(op, name, given)
    if given.__class__ is tuple and not [n for n in given if n.__class__ is not int]:
        return given
    if not isinstance(given, (list, tuple)) and _takes_an_int(op, name):
        found = symint_from(given, takes_bool_tensors=True)
        if found is not None:
            return found
    return _ints(op, name, position, given, sys._getframe(1))


def _ints(op: Op, name: str, position: int, given: Any, frame: FrameType, in_sequence: bool = True) -> tuple[int, ...]:
    if not isinstance(given, (list, tuple)):
        raise _refused(op, name, position, given, "tuple of ints", frame)
    if given and not begins_with_int(given) and fits_several(op, frame):
        raise invalid_combination(op, frame)
    return ints_of(given, public_name(op), name, position, in_sequence)


def _takes_an_int(op: Op, name: str) -> bool:
    annotation = next(p.annotation for p in op.params if p.name == name)
    return not {"Dims", "int"}.isdisjoint([part.strip() for part in annotation.split("|")])


def _refused(op: Op, name: str, position: int, given: Any, wanted: str, frame: FrameType) -> TypeError:
    """Return PyTorch's error for an argument of a wrong type. ``frame``: the frame of the function made from ``op``."""
    return invalid_combination(op, frame) if fits_several(op, frame) else not_a(given, wanted, op, name, position)
