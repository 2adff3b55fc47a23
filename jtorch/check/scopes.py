"""The bindings of a file's names, scope by scope."""
from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Bound:
    """One binding of a name.

    ``kind`` is "path" (an import from PyTorch or another file), "value" (an expression), "typed" (an annotation), "self" (a
    method's first parameter, with a base class) or "other".
    """

    kind: str
    path: str = ""
    node: Any = None
    scope: Any = None
    is_none: bool = False           # True for a constant, such as in `torch = None` after a failed import


class Scope:
    """The names of a module, a class, a function or a comprehension."""

    __slots__ = ("bases", "bound", "elsewhere", "inner", "is_class", "parent")

    def __init__(self, parent: Scope | None, is_class: bool = False, bases: list[ast.expr] | None = None) -> None:
        self.parent, self.is_class, self.bases = parent, is_class, bases or []
        self.inner: list[Scope] = []
        if parent is not None:
            parent.inner.append(self)
        self.bound: dict[str, list[Bound]] = {}
        self.elsewhere: set[str] = set()        # names that `global` or `nonlocal` declares

    def bind(self, name: str, bound: Bound) -> None:
        """Add a binding. A name that is declared ``global`` or ``nonlocal`` gets the binding in an outer scope."""
        scope = self
        while name in scope.elsewhere and scope.parent is not None:
            scope = scope.parent
        scope.bound.setdefault(name, []).append(bound)

    def forget(self) -> None:
        """Break the cycles among scopes, which would keep the syntax tree until the garbage collector runs."""
        for scope in self.inner:
            scope.forget()
        self.inner.clear()
        self.bound.clear()
        self.parent = None

    def find(self, name: str) -> list[Bound] | None:
        """Return a name's bindings, as Python looks names up; None if the file does not bind it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bound and (scope is self or not scope.is_class):
                return scope.bound[name]
            scope = scope.parent
        return None
