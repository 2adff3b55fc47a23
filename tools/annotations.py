"""Translate annotations of the sources to the types in the stubs."""
from __future__ import annotations

import ast
from typing import Any

# The names begin with `builtins.`, because a stub's own names hide int, float, bool and sum.
BUILTINS = {n: f"builtins.{n}" for n in ("int", "float", "bool", "complex", "str", "bytes", "object", "type", "dict", "set",
                                         "list", "tuple", "slice")}
INTS = "Sequence[builtins.int]"
ARGUMENTS = {"Tensor": "Tensor", "Number": "_Number", "Scalar": "_Number",
             "Size": INTS, "Dims": f"builtins.int | {INTS} | None", "dtype": "_dtype",
             "device": "_device", "Device": "_device", "Generator": "_Generator", "Any": "Any", "Callable": "Callable",
             "Sequence": "Sequence", "Iterable": "Iterable", "Iterator": "Iterator", "Tensors": "Sequence[Tensor]",
             "ndarray": "_np.ndarray", "None": "None", **BUILTINS}
RESULTS = {**ARGUMENTS, "Size": "_Size", "Tensors": "builtins.tuple[Tensor, ...]"}
PREAMBLE = """\
import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, overload

import numpy as _np

from jtorch.device import device as _device
from jtorch.dtype import dtype as _dtype
from jtorch._base.generator import Generator as _Generator
from jtorch._base.size import Size as _Size
{imports}

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int
"""


def argument_type(annotation: Any) -> str:
    """Return the type of an argument: any sequence if the source says tuple or list."""
    return _translate(annotation, ARGUMENTS, sequences=True)


def result_type(annotation: Any) -> str:
    """Return the type of a result."""
    return _translate(annotation, RESULTS, sequences=False)


def _translate(annotation: Any, names: dict[str, str], *, sequences: bool) -> str:
    if annotation is None:
        return "None"
    if not isinstance(annotation, str):
        annotation = getattr(annotation, "__name__", "Any")
    return _type(ast.parse(annotation, mode="eval").body, names, sequences)


def _type(node: ast.expr, names: dict[str, str], sequences: bool) -> str:
    match node:
        case ast.Name(id=name) if name.endswith("_result"):
            return name     # The class is a named tuple of overloads.pyi.
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return names.get(name, "Any")
        case ast.Subscript(value=ast.Name(id="Literal")):
            return ast.unparse(node)
        case ast.Constant(value=None):
            return "None"
        case ast.Constant(value=str(text)):
            return _translate(text, names, sequences=sequences)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            parts = f"{_type(left, names, sequences)} | {_type(right, names, sequences)}".split(" | ")
            return "Any" if "Any" in parts else " | ".join(dict.fromkeys(parts))
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            return _generic(name, inner, names, sequences)
    return "Any"


def _generic(name: str, inner: ast.expr, names: dict[str, str], sequences: bool) -> str:
    items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name in ("tuple", "list") and sequences:
        kinds = [_type(i, names, sequences) for i in items if not _is_ellipsis(i)]
        return f"Sequence[{' | '.join(dict.fromkeys(kinds))}]"
    outer = names.get(name, "Any")
    if outer in ("Any", "Callable"):
        return outer if outer == "Any" else "Callable[..., Any]"
    return f"{outer}[{', '.join('...' if _is_ellipsis(i) else _type(i, names, sequences) for i in items)}]"


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...
