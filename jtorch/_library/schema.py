"""Parsing and printing of schemas: ``ns::name.overload(Tensor(a!) self, int[2] size, *, float p=0.5) -> Tensor``."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_PRINTED = {"SymInt": "int", "Scalar": "number", "ScalarType": "int", "Layout": "int", "MemoryFormat": "int"}
_BASE = set("Tensor int SymInt float SymFloat bool SymBool str complex Scalar ScalarType Device DeviceIndex Layout MemoryFormat "
            "Generator Storage Stream Dimname QScheme Any AnyEnumType NoneType Dict Future Await RRef t t1 t2 tVal tKey "
            "AnyListType "
            "AnyTupleType Capsule PyObject ConstQuantizerPtr number list".split())


@dataclass(frozen=True)
class AliasInfo:
    """An alias annotation of an argument or result: ``(a!)`` is the set {a}, which is written to."""

    before_set: frozenset
    after_set: frozenset
    is_write: bool

    def __str__(self) -> str:
        before, after = ("|".join(sorted(s)) for s in (self.before_set, self.after_set))
        mark = "!" if self.is_write else ""
        return f"({before}{mark})" if before == after else f"({before}{mark} -> {after})"


@dataclass(frozen=True)
class Type:
    """A type: ``name``, or a list or optional of ``element``."""

    name: str
    element: Type | None = None
    size: int | None = None

    @property
    def is_list(self) -> bool:
        """Whether the type is a list."""
        return self.name == "List"

    @property
    def is_optional(self) -> bool:
        """Whether the type allows None."""
        return self.name == "Optional"

    def getElementType(self) -> Type | None:
        """Return the element type of a list or optional."""
        return self.element

    def kind(self) -> str:
        """Return the kind, such as "TensorType" or "ListType"."""
        return f"{self.name.replace('Scalar', 'Number') if self.name == 'Scalar' else self.name.capitalize()}Type"

    def base(self) -> str:
        """Return the name of the innermost element type."""
        return self.name if self.element is None else self.element.base()

    def written(self, alias: str = "") -> str:
        """Return the type's text in a schema, with an alias annotation."""
        if self.element is None:
            return self.name + alias
        if self.is_optional:
            return self.element.written(alias) + "?"
        return f"{self.element.written(alias)}[{'' if self.size is None else self.size}]"

    def __str__(self) -> str:
        return _PRINTED.get(self.name, self.name) if self.element is None else f"{self.name}[{self.element}]"

    __repr__ = __str__


@dataclass(frozen=True)
class Argument:
    """An argument or result of a schema."""

    name: str
    type: Type
    default_value: Any = None
    kwarg_only: bool = False
    alias_info: AliasInfo | None = None
    given_default: bool = False

    @property
    def real_type(self) -> Type:
        """The type in the schema."""
        return self.type

    @property
    def N(self) -> int | None:
        """The length to which a single number is repeated."""
        return self.type.size

    @property
    def is_out(self) -> bool:
        """Whether the argument is an ``out`` argument."""
        return self.kwarg_only and self.alias_info is not None and self.alias_info.is_write

    def has_default_value(self) -> bool:
        """Return whether the argument has a default."""
        return self.given_default

    def __str__(self) -> str:
        alias = "" if self.alias_info is None else str(self.alias_info)
        text = self.type.written(alias) + (f" {self.name}" if self.name else "")
        return f"{text}={_written(self.default_value)}" if self.given_default else text


def _written(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float):
        text = f"{value:.17g}"
        return text if set(text) & set(".en") else text + "."
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return str(value)


@dataclass(frozen=True)
class FunctionSchema:
    """The arguments and results of an operator. See torch._C.FunctionSchema."""

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    is_vararg: bool = False
    is_varret: bool = False

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes to an argument."""
        return any(a.alias_info is not None and a.alias_info.is_write for a in self.arguments)

    def _is_view_op(self) -> bool:
        aliases = [a.alias_info for a in self.arguments if a.alias_info is not None]
        return bool(aliases) and not any(a.is_write for a in aliases)

    @property
    def full_name(self) -> str:
        """The name with the overload's name."""
        return f"{self.name}.{self.overload_name}" if self.overload_name else self.name

    def __str__(self) -> str:
        parts: list[str] = []
        for a in self.arguments:
            if a.kwarg_only and "*" not in parts:
                parts.append("*")
            parts.append(str(a))
        given = ", ".join([*parts, *(["..."] if self.is_vararg else [])])
        made = ", ".join([*map(str, self.returns), *(["..."] if self.is_varret else [])])
        bare = len(self.returns) + self.is_varret == 1
        return f"{self.full_name}({given}) -> {made if bare else f'({made})'}"

    __repr__ = __str__


_TOKENS = re.compile(r"\s*(?:(->)|(\.\.\.)|([A-Za-z_][\w.]*(?:::[\w.]+)?)|([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?j?)|"
                     r"(\"[^\"]*\"|'[^']*')|([()\[\]?!*=,|]))")
_KINDS = ("arrow", "...", "ident", "number", "string", "")
_CONSTANTS: dict[str, Any] = {"None": None, "True": True, "False": False, "inf": float("inf"), "nan": float("nan")}


class _Reader:
    """A reader of the tokens of a schema's text."""

    def __init__(self, text: str):
        self.text, self.at, self.tokens = text, 0, []
        end = len(text.rstrip())
        place = 0
        while place < end:
            found = _TOKENS.match(text, place)
            if found is None:
                raise RuntimeError(f"unexpected character here:\n{_here(text, place, 1)}")
            assert found.lastindex is not None
            word = found.group(found.lastindex)
            self.tokens.append((_KINDS[found.lastindex - 1] or word, word, found.start(found.lastindex)))
            place = found.end()
        self.tokens.append(("eof", "", len(text)))

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def takes(self, kind: str) -> bool:
        if self.kind == kind:
            self.at += 1
            return True
        return False

    def expect(self, kind: str) -> str:
        if self.kind != kind:
            found, word, place = self.tokens[self.at]
            raise RuntimeError(f"expected {kind} but found '{found}' here:\n{_here(self.text, place, len(word))}")
        return self.take()


def _here(text: str, place: int, length: int) -> str:
    return f"{text}\n{' ' * place}{'~' * length} <--- HERE\n" if length else f"{text}\n"


def _alias(r: _Reader) -> AliasInfo | None:
    if not r.takes("("):
        return None
    before, write = _alias_set(r), r.takes("!")
    after = _alias_set(r) if r.takes("arrow") else before
    r.expect(")")
    return AliasInfo(before, after, write)


def _alias_set(r: _Reader) -> frozenset:
    names = [r.take()]
    while r.takes("|"):
        names.append(r.take())
    return frozenset(names)


def _type(r: _Reader) -> tuple[Type, AliasInfo | None]:
    place = r.tokens[r.at][2]
    if r.kind == "(":
        kind = Type(_tuple(r))
    else:
        name = r.expect("ident")
        if name not in _BASE and not name.startswith("__torch__."):
            raise RuntimeError("\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, "
                               "Scalar; for a full list, please see https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/"
                               f"native/README.md#func :\n{_here(r.text, place, len(name))}")
        kind = Type(name if name not in ("Dict", "Future", "Await", "RRef") else name + f"({_tuple(r)[1:]}")
    alias = _alias(r) if r.kind == "(" else None
    while True:
        if r.takes("["):
            size = int(r.take()) if r.kind == "number" else None
            r.expect("]")
            kind = Type("List", kind, size)
            alias = alias or (_alias(r) if r.kind == "(" else None)
        elif r.takes("?"):
            kind = Type("Optional", kind)
        else:
            return kind, alias


def _tuple(r: _Reader) -> str:
    r.expect("(")
    parts = []
    while not r.takes(")"):
        parts.append(_type(r)[0].written())
        r.takes(",")
    return f"({', '.join(parts)})"


def _default(r: _Reader, kind: Type) -> Any:
    if r.takes("["):
        items = []
        while not r.takes("]"):
            items.append(_default(r, kind.element or kind))
            r.takes(",")
        return items
    token, word = r.kind, r.take()
    if token == "string":
        return word[1:-1]
    if token == "number":
        base = kind.base()
        number = complex(word) if word.endswith("j") else (int(word) if re.fullmatch(r"[-+]?\d+", word) else float(word))
        number = float(number) if base == "float" and isinstance(number, int) else number
        return [number] * kind.size if kind.is_list and kind.size is not None and kind.size > 1 else number
    return _CONSTANTS.get(word, word)


def _arguments(r: _Reader) -> tuple[tuple[Argument, ...], bool]:
    made: list[Argument] = []
    keyword = False
    r.expect("(")
    while not r.takes(")"):
        if r.takes("..."):
            r.expect(")")
            return tuple(made), True
        if r.takes("*"):
            keyword = True
        else:
            kind, alias = _type(r)
            name = r.expect("ident")
            given = r.takes("=")
            made.append(Argument(name, kind, _default(r, kind) if given else None, keyword, alias, given))
        if r.kind != ")":
            r.expect(",") if r.kind == "," else r.expect(")")
    return tuple(made), False


def _returns(r: _Reader) -> tuple[tuple[Argument, ...], bool]:
    if r.takes("..."):
        return (), True
    if not r.takes("("):
        kind, alias = _type(r)
        return (Argument(r.take() if r.kind == "ident" else "", kind, alias_info=alias),), False
    made: list[Argument] = []
    while not r.takes(")"):
        if r.takes("..."):
            r.expect(")")
            return tuple(made), True
        kind, alias = _type(r)
        made.append(Argument(r.take() if r.kind == "ident" else "", kind, alias_info=alias))
        if r.kind != ")":
            r.expect(",")
    return tuple(made), False


def parse_schema(text: str) -> FunctionSchema:
    """Parse a schema. Raise RuntimeError that shows the position of a syntax error."""
    r = _Reader(text)
    full = r.expect("ident")
    namespace, _, last = full.rpartition("::")
    short, _, overload = last.partition(".")
    arguments, vararg = _arguments(r)
    r.expect("arrow")
    returns, varret = _returns(r)
    r.expect("eof")
    return FunctionSchema(f"{namespace}::{short}" if namespace else short, overload, arguments, returns, vararg, varret)
