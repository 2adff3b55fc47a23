"""The TypeErrors of calls whose arguments fit no overload of a PyTorch function.

Only calls that fail come here, so what the caller passed is read off the failing function's frame.
"""
from __future__ import annotations

from types import FrameType
from typing import Any

from jtorch.ops.registry import Op


class _Missing:
    """Stands for an argument that is not given."""

    def __repr__(self):
        return "<not given>"


MISSING = _Missing()
GUARD = "_by_name_only"     # the parameter of generated functions that tells that too much was given by position
NUMPY_NAMES = {"input": ("x", "a", "x1"), "other": ("x2",), "dim": ("axis",), "keepdim": ("keepdims",),
               "split_size_or_sections": ("split_size",)}       # the last is what the method calls it
OTHER_NAMES_OF_STATICS = {"axis", "keepdims", "split_size"}


def public_name(op: Op) -> str:
    """``special_zeta``: the name of the function in PyTorch's messages."""
    return op.name.removeprefix("nn.functional.").replace(".", "_")


def has_overloads(op: Op) -> bool:
    """Whether PyTorch has several functions of the op's name, for tensors and numbers."""
    return any({part.strip() for part in p.annotation.split("|")} - {"Tensor", "None"}
               for p in op.params if p.kind in ("tensor_or_number", "tensor_or_static"))


def needs_a_tensor(op: Op) -> bool:
    """Whether all of the op's tensors may be numbers, though not at once."""
    return (any(p.kind == "tensor_or_number" for p in op.params) and not op.numbers_only and not op.creates
            and not any(p.kind in ("tensor", "tensors") for p in op.params) and op.function)


def invalid_combination(op: Op, frame: FrameType | None) -> TypeError:
    """The error of a call in ``frame``, a function made from ``op``, that fits no overload."""
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
    return type(value).__name__
