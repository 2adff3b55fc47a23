"""Write the stub lines of one function: of an op in each of its forms, or of any other function."""
from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jtorch._api import declared
from jtorch._api.argument_aliases import GUARD, MADE, numpy_names
from jtorch._api.argument_errors import MISSING
from jtorch._api.generate import _REFLECTED
from jtorch.ops.registry import OPS, Op, Param
from tools.annotations import argument_type, result_type

# Generated functions have these parameters besides the op's own.
EXTRA = {"out": "Tensor | None", "device": "_DeviceLike | None", "requires_grad": "builtins.bool", "layout": "Any",
         "pin_memory": "builtins.bool", "memory_format": "Any", "inplace": "builtins.bool", "dtype": "_dtype | None",
         "generator": "_Generator | None"}
BY_NAME: dict[str, Op] = {full: op for op in OPS.values() for full in (op.name, *op.aliases)}
EMPTY = inspect.Parameter.empty


@dataclass(frozen=True)
class Argument:
    """A parameter, as written in a stub."""

    name: str
    type: str
    default: Any = EMPTY
    keyword_only: bool = False
    star: str = ""

    def __str__(self):
        if self.default is EMPTY:
            return f"{self.star}{self.name}: {self.type}" if self.type else self.name
        plain = self.default is None or self.default.__class__ in (bool, int, float, str)
        return f"{self.name}: {self.type} = {repr(self.default) if plain and _is_finite(self.default) else '...'}"


def _is_finite(x: Any) -> bool:
    return not isinstance(x, float) or x - x == 0


@dataclass(frozen=True)
class Stub:
    """A function in a stub file: one signature, or several overloads."""

    name: str
    signatures: tuple[tuple[tuple[Argument, ...], str], ...]
    doc: str = ""
    property: bool = False

    def method(self) -> Stub:
        """Return the stub with ``self`` as its first argument, and without ``out=``."""
        return replace(self, signatures=tuple((_as_method(a), r) for a, r in self.signatures))

    def lines(self, indent: str = "") -> list[str]:
        """Return the lines of the stub."""
        out = []
        for i, (arguments, result) in enumerate(self.signatures):
            if self.property or len(self.signatures) > 1:
                out.append(f"{indent}@property" if self.property else f"{indent}@overload")
            doc = f'\n{indent}    """{self.doc}"""' if self.doc and i == len(self.signatures) - 1 else " ..."
            out.append(f"{indent}def {self.name}({_written(arguments)}) -> {result}:{doc}")
        return out


def _as_method(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    rest = [a for a in arguments[1:] if a.name != "out"]
    return (Argument("self", ""), *rest) if arguments and not arguments[0].star else (Argument("self", ""), *arguments)


def _written(arguments: tuple[Argument, ...]) -> str:
    parts, starred = [], False
    for a in arguments:
        if a.keyword_only and not starred:
            parts.append("*")
        starred = starred or a.keyword_only or a.star == "*"
        parts.append(str(a))
    return ", ".join(parts)


def first_sentences(doc: str | None) -> str:
    """Return the first paragraph of a docstring on one line."""
    text = " ".join((doc or "").split("\n\n")[0].split()).replace('"""', "'''")
    return text.replace("\\", "\\\\") + (" " if text.endswith('"') else "")


# ---------------------------------------------------------------- functions made from an op record

def is_made(fn: Any) -> bool:
    """Return whether ``fn`` was generated from an op record."""
    if getattr(fn, "__globals__", None) is vars(declared):
        fn = getattr(fn, "__wrapped__", fn)     # The wrapper checks the arguments.
    return getattr(getattr(fn, "__code__", None), "co_filename", "") == MADE


def of_op(full: str, fn: Callable) -> Stub:
    """Return the stub of the generated ``fn``, bound as ``full`` (``linalg.inv``, ``exp_``)."""
    op = BY_NAME.get(full) or BY_NAME[full.removesuffix("_")]
    name = full.rpartition(".")[2]
    written = name.endswith("_") and full not in BY_NAME
    byhand = OVERLOADS.get(op.name)
    if byhand is not None and not written:
        return replace(byhand, name=name, doc=first_sentences(op.doc))
    types = {p.name: p for p in op.params}
    arguments = tuple(_argument(p, types, op) for p in _parameters(fn, op))
    result = "Tensor" if written else _result(op)
    return Stub(name, tuple((a, result) for a in _spelled_out(arguments, types)), first_sentences(op.doc))


def _parameters(fn: Callable, op: Op) -> list[inspect.Parameter]:
    """Return the parameters under PyTorch's own names. Parameters after ``GUARD`` are keyword-only."""
    given = [p.replace(default=p.empty) if p.default is MISSING else p for p in inspect.signature(fn).parameters.values()]
    others = {GUARD, *(n for names in numpy_names(op.params).values() for n in names)}
    behind = [p.name for p in given].index(GUARD) if any(p.name == GUARD for p in given) else len(given)
    kinds = [p if i < behind else p.replace(kind=p.KEYWORD_ONLY) for i, p in enumerate(given)]
    return [p for p in kinds if p.name not in others]


def _argument(p: inspect.Parameter, params: dict[str, Param], op: Op) -> Argument:
    keyword_only = p.kind is p.KEYWORD_ONLY
    if p.kind is p.VAR_POSITIONAL:
        return Argument(p.name.removesuffix("_"), "", star="*")
    found = params.get(p.name)
    if found is None:
        kind = EXTRA[p.name]
        if p.name == "out" and (op.returns or _result(op) != "Tensor"):
            kind = "Sequence[Tensor] | None"
        return Argument(p.name, kind, p.default, keyword_only)
    text = argument_type(found.annotation)
    if p.default is None and "None" not in text and text != "Any":
        text += " | None"
    return Argument(p.name, text, p.default, keyword_only)


def _spelled_out(arguments: tuple[Argument, ...], params: dict[str, Param]) -> list[tuple[Argument, ...]]:
    """Return both ways to pass a ``Size`` or ``Tensors``: ``f(2, 3)`` and ``f((2, 3))``."""
    at = next((i for i, a in enumerate(arguments) if a.star), None)
    if at is None:
        return [arguments]
    name = arguments[at].name
    rest = [a for a in arguments if a.name != name]
    one, many = ("Tensor", "Sequence[Tensor]") if params[name].kind == "tensors" else ("builtins.int", argument_type("Size"))
    return [(*rest[:at], a, *rest[at:]) for a in (Argument(name, one, star="*"), Argument(name, many))]


def _result(op: Op) -> str:
    if op.returns:
        return f"{op.name.replace('.', '_')}_result"
    annotation = getattr(op.body, "__annotations__", {}).get("return")
    if annotation is None or op.writes:
        return "Tensor"
    return result_type(annotation).replace("builtins.list[Tensor]", "builtins.tuple[Tensor, ...]")


def result_class(op: Op) -> list[str]:
    """Return the lines of the named tuple class that an op with named results returns."""
    return [f"class {_result(op)}(NamedTuple):", *(f"    {f}: Tensor" for f in op.returns)]


def operator(name: str, op: Op) -> Stub:
    """Return the stub of an operator such as ``__add__``."""
    me = Argument("self", "")
    if name in ("__neg__", "__pos__", "__abs__", "__invert__"):
        return Stub(name, (((me,), "Tensor"),))
    other = argument_type(op.params[0 if name in _REFLECTED else 1].annotation)
    return Stub(name, (((me, Argument("other", "Any" if name in ("__eq__", "__ne__") else other)), "Tensor"),))


# ---------------------------------------------------------------- all other functions

def of_function(name: str, fn: Callable) -> Stub:
    """Return the stub of a function with annotations of its own."""
    arguments = tuple(_annotated(p) for p in inspect.signature(fn).parameters.values())
    annotation = getattr(fn, "__annotations__", {}).get("return", "Any")
    return Stub(name, ((arguments, result_type(annotation)),), first_sentences(fn.__doc__))


def _annotated(p: inspect.Parameter) -> Argument:
    text = EXTRA.get(p.name) if p.annotation is EMPTY else argument_type(p.annotation)
    star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
    if p.default is None and "None" not in (text or "Any") and text not in (None, "Any"):
        text = f"{text} | None"
    return Argument(p.name, text or "Any", p.default, p.kind is p.KEYWORD_ONLY, star)


def of_property(name: str, found: property) -> Stub:
    """Return the stub of a property. Its type is a tensor if an op has its name."""
    annotation = "Tensor" if name in OPS else getattr(found.fget, "__annotations__", {}).get("return", "Any")
    return Stub(name, (((Argument("self", ""),), result_type(annotation)),), first_sentences(found.__doc__), property=True)


# ---------------------------------------------------------------- the signatures of overloads.pyi

def _overloads() -> dict[str, Stub]:
    """Return the functions of overloads.pyi by op name."""
    found: dict[str, list] = {}
    for node in ast.parse((Path(__file__).parent / "overloads.pyi").read_text()).body:
        assert isinstance(node, ast.FunctionDef)
        found.setdefault(node.name, []).append((_of_ast(node.args), result_type(_text(node.returns))))
    return {name: Stub(name, tuple(signatures)) for name, signatures in found.items()}


def _of_ast(args: ast.arguments) -> tuple[Argument, ...]:
    required: list[ast.expr | None] = [None] * (len(args.args) - len(args.defaults))
    plain = [_of_arg(a, d) for a, d in zip(args.args, [*required, *args.defaults], strict=True)]
    star = [replace(_of_arg(args.vararg, None), star="*")] if args.vararg else []
    only = [replace(_of_arg(a, d), keyword_only=True) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    return (*plain, *star, *only)


def _of_arg(a: ast.arg, default: ast.expr | None) -> Argument:
    value = EMPTY if default is None else ast.literal_eval(default)
    return Argument(a.arg, argument_type(_text(a.annotation)), value)


def _text(annotation: ast.expr | None) -> str:
    assert annotation is not None
    return ast.unparse(annotation)


OVERLOADS = _overloads()
