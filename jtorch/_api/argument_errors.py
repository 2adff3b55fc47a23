"""The TypeErrors of calls whose arguments fit no overload of a PyTorch function.

Only failing calls come here. The caller's arguments are read from the frame of the failing function.
"""
from __future__ import annotations

import functools
from types import FrameType, NoneType
from typing import Any

from jtorch._base.aten_schemas import argument_counts
from jtorch._base.error_notes import instead_of, with_note
from jtorch.ops.registry import Frozen, Op, Param, T


class _Missing:
    """The value of a parameter that is not given."""

    def __repr__(self):
        return "<not given>"


MISSING = _Missing()
GUARD = "_by_name_only"     # a parameter of generated functions that receives the first positional argument too many
NUMPY_NAMES = {"input": ("x", "a", "x1"), "other": ("x2",), "dim": ("axis",), "keepdim": ("keepdims",),
               "split_size_or_sections": ("split_size",)}       # Tensor.split calls this parameter split_size
OTHER_NAMES_OF_STATICS = {"axis", "keepdims", "split_size"}


def public_name(op: Op) -> str:
    """Return the function's name in PyTorch's messages, such as ``special_zeta``."""
    return op.name.removeprefix("nn.functional.").replace(".", "_")


def has_overloads(op: Op) -> bool:
    """Return whether PyTorch has overloads of the op, for tensors and numbers."""
    return any({part.strip() for part in p.annotation.split("|")} - {"Tensor", "None"}
               for p in op.params if p.kind in ("tensor_or_number", "tensor_or_static"))


def fits_several(op: Op, frame: FrameType | None) -> bool:
    """Return whether PyTorch's error names no argument, since the number of arguments fits several overloads, or none.

    ``frame``: the frame of the function made from ``op``.
    """
    counts = argument_counts(public_name(op))
    if any(p.kind == "tensor_or_number" for p in op.params) or len(counts) < 2 or frame is None:
        return has_overloads(op)
    given = len(_given(op, frame.f_locals)) + (frame.f_locals.get("out") is not None)
    return len([None for smallest, largest in counts if smallest <= given <= largest]) != 1


def needs_a_tensor(op: Op) -> bool:
    """Return whether each tensor argument of the op may be a number, but not all of them together."""
    return (any(p.kind == "tensor_or_number" for p in op.params) and not op.numbers_only and not op.creates
            and not any(p.kind in ("tensor", "tensors") for p in op.params) and op.function)


def invalid_combination(op: Op, frame: FrameType | None) -> TypeError:
    """Return the error of a call that fits no overload. ``frame``: the frame of the function made from ``op``."""
    given = [] if frame is None else _given(op, frame.f_locals)
    return TypeError(f"{public_name(op)}() received an invalid combination of arguments - got ({', '.join(given)})")


def _given(op: Op, values: dict[str, Any]) -> list[str]:
    found = []
    for p in op.params:
        value = values.get(p.name, MISSING)
        if value is not p.default and value is not MISSING:
            found.append(f"{p.name}={_type_name(value)}" if p.keyword_only else _type_name(value))
    return found


def _type_name(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_type_name(v) for v in value)
        return f"{type(value).__name__} of ({inner},)" if len(value) == 1 else f"{type(value).__name__} of ({inner})"
    return type_name(value)


def type_name(given: Any) -> str:
    """Return the name of an object's type, with the module for NumPy's types."""
    kind = type(given)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def not_a(given: Any, wanted: str, op: Op, name: str, position: int) -> TypeError:
    """Return the error for an argument of a wrong type. ``position`` is 0 for an argument given by name.

    The frame that raises the error must not hold it in a variable, since that would be a reference cycle.
    """
    error = _wrong(op, name, position, wanted, type_name(given))
    return with_note(error, instead_of(given)) if instead_of(given) else error


def _wrong(op: Op, name: str, position: int, wanted: str, kind: str) -> TypeError:
    where = f"argument '{name}' (position {position})" if position else f"argument '{name}'"
    return TypeError(f"{public_name(op)}(): {where} must be {wanted}, not {kind}")


# ---------------------------------------------------------------- static arguments


class Odd:
    """A placeholder in a template for an unsupported object, such as a dict."""

    def __init__(self, given: Any):
        self.given = given


_NUMBERS: set[type] = {complex, float, int, bool}
_KINDS: dict[str, set[type]] = {"bool": {bool}, "int": {int}, "float": _NUMBERS - {complex}, "complex": _NUMBERS,
                                "Scalar": _NUMBERS, "str": {str}, "None": {NoneType}}
_OF_INTS = ("tuple[int, ...]", "list[int]", "tuple[int | None, ...]")
_DIMS = "int | tuple[int, ...] | None"
_NAMES = {"complex": "Number", "Scalar": "Number", **{kind: kind for kind in ("float", "bool", "str", "int", "Tensor")}}


SECTIONS = "indices_or_sections"       # the functions with this parameter check its type themselves


def check_statics(op: Op, template: tuple) -> None:
    """Raise TypeError if a static argument of a template has a wrong type. Each new template is checked once."""
    for place, (p, t) in enumerate(zip(op.params, template, strict=True)):
        if p.kind in ("static", "tensor_or_static") and t is not T and p.name != SECTIONS and not _is_taken(p, t):
            raise _wrong(op, p.name, 0 if p.keyword_only else place + 1, _wanted(p), _kind_of(t))


def _is_taken(p: Param, value: Any) -> bool:
    if p.is_dtype:
        return value is None or not isinstance(value, (Frozen, tuple, Odd))
    kinds, in_tuple = _taken(p.annotation.replace("Dims", _DIMS))
    if isinstance(value, tuple) and not isinstance(value, Frozen):
        return kinds is None or (in_tuple is not None and all([_kind(v) in in_tuple for v in value]))
    return not isinstance(value, Odd) if kinds is None else _kind(value) in kinds


@functools.cache
def _taken(annotation: str) -> tuple[set[type] | None, set[type] | None]:
    """Return (types that an annotation allows, types of a tuple's items). (None, None) allows everything; (types, None) allows
    no tuple.
    """
    of_ints = next((text for text in _OF_INTS if text in annotation), None)
    single = annotation if of_ints is None else annotation.replace(of_ints, "")
    parts = {part.strip() for part in single.split("|")} - {"", "Tensor"}
    if not parts <= set(_KINDS):
        return None, None
    items: set[type] = {int, NoneType} if of_ints is not None and "None" in of_ints else {int}
    return {kind for part in parts for kind in _KINDS[part]}, None if of_ints is None else items


def _wanted(p: Param) -> str:
    """Return the name of a parameter's type in PyTorch's messages."""
    if p.is_dtype:
        return "torch.dtype"
    if any(text in p.annotation for text in ("Dims", *_OF_INTS)):
        return "tuple of ints"
    return next((_NAMES[kind] for kind in _NAMES if kind in p.annotation), p.annotation)


def _kind(value: Any) -> type:
    return value[0] if value.__class__ is Frozen else value.__class__


def _kind_of(value: Any) -> str:
    """Return the name of the type of a template's entry. A template holds lists as tuples."""
    if isinstance(value, Odd):
        return type_name(value.given)
    return "list" if value.__class__ is tuple else type_name(value) if value.__class__ is not Frozen else value[0].__name__
