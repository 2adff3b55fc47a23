"""torch.library.Library: definitions and kernels of operators, which last as long as the library."""
from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from jtorch._library import namespaces
from jtorch._library.dispatch_keys import DispatchKeySet, parse_key
from jtorch._library.operators import OPERATORS, PACKETS, Operator, defined, operator
from jtorch._library.schema import parse_schema
from jtorch._library.tags import as_tags

_owners: dict[str, str] = {}        # maps a namespace owned by a DEF library to the line that made the library
RESERVED = ("prim",)


def _caller(depth: int) -> str:
    frame = sys._getframe(depth + 1)
    return f"registered at {frame.f_code.co_filename}:{frame.f_lineno}"


def _undo_all(undo: list[Callable[[], None]]) -> None:
    while undo:
        undo.pop()()


class Library:
    """Defines operators in a namespace ("DEF", "FRAGMENT") or gives kernels to them ("IMPL"). See torch.library.Library."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = ""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in RESERVED and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self.m: Any = self
        self._op_defs: set[str] = set()
        self._op_impls: set[str] = set()
        self._undo: list[Callable[[], None]] = []
        if kind == "DEF":
            self._own(_caller(1))
        weakref.finalize(self, _undo_all, self._undo)

    def _own(self, where: str) -> None:
        if self.ns in _owners:
            raise RuntimeError(f"Only a single TORCH_LIBRARY can be used to register the namespace {self.ns}; please put all of "
                               "your definitions in a single TORCH_LIBRARY block.  If you were trying to specify "
                               "implementations, "
                               "consider using TORCH_LIBRARY_IMPL (which can be duplicated).  If you really intended to define "
                               "operators for a single namespace in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to "
                               "explicitly indicate this.  Previous registration of TORCH_LIBRARY was "
                               f"{_owners[self.ns]}; latest registration was {where}")
        _owners[self.ns] = where
        ns = self.ns

        def disown() -> None:
            _owners.pop(ns, None)
        self._undo.append(disown)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator and return its name. See torch.library.Library.define."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        self._alive()
        parsed = parse_schema(schema)
        if "::" not in parsed.name:
            parsed = parse_schema(f"{self.ns}::{schema.strip()}")
        if parsed.name.split("::")[0] != self.ns:
            raise RuntimeError(f"Explicitly provided namespace ({parsed.name.split('::')[0]}) in schema string does not match "
                               f"namespace of enclosing TORCH_LIBRARY block ({self.ns}).")
        record, where = operator(parsed.full_name), _caller(1)
        if record.schema is not None:
            raise RuntimeError(f"Tried to register an operator ({parsed}) with the same name and overload name multiple times. "
                               "Each overload's schema should only be registered with a single call to def(). Duplicate "
                               f"registration: {where}. Original registration: {record.where}")
        record.define(parsed, as_tags(tags), where)
        PACKETS.setdefault(parsed.name, []).append(record)
        namespaces.forget(parsed.name)
        self._op_defs.add(parsed.full_name)
        self._undo.append(lambda: _undefine(record))
        return schema.split("(")[0]

    def _alive(self) -> None:
        if self.m is None:
            raise AssertionError("Library object has been destroyed")

    def _name_of(self, op_name: Any, function: str) -> str:
        if isinstance(op_name, namespaces.OpOverload):
            return op_name.name()
        if not isinstance(op_name, str):
            raise RuntimeError(f"{function} should be passed either a name or an OpOverload object as the first argument, got "
                               f"{type(op_name)}")
        return op_name if "::" in op_name else f"{self.ns}::{op_name}"

    def impl(self, op_name: Any, fn: Callable, dispatch_key: str = "", *, with_keyset: bool = False,
             allow_override: bool = True) -> None:
        """Register an operator's kernel for a dispatch key. See torch.library.Library.impl."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        name = self._name_of(op_name, "impl")
        key = parse_key(dispatch_key or self.dispatch_key or "CompositeImplicitAutograd")
        record = operator(name)
        if not allow_override and key in record.kernels:
            raise RuntimeError("This is not allowed since there's already a kernel registered from python overriding "
                               f"{name.split('::')[-1]}'s behavior for {dispatch_key or self.dispatch_key} dispatch key and "
                               f"{self.ns} "
                               "namespace.")
        if key == "Meta" and name.startswith("aten::") and "CompositeImplicitAutograd" in record.kernels:
            raise RuntimeError(f"We should not register a meta kernel directly to the operator '{name}', because it has a "
                               "CompositeImplicitAutograd kernel in core. Instead we should let the operator decompose, and "
                               "ensure "
                               "that we have meta kernels for the base ops that it decomposes into.")
        self._alive()
        kernel = (lambda *args, **kwargs: fn(DispatchKeySet(key), *args, **kwargs)) if with_keyset else fn
        before = record.kernels.get(key)
        record.kernels[key] = kernel
        self._op_impls.add(f"{self.ns}/{name.split('::')[-1]}/{key}")
        self._undo.append(lambda: _restore(record, key, kernel, before))

    def fallback(self, fn: Callable, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Raise NotImplementedError, since this package has no dispatcher for its functions."""
        raise NotImplementedError("Library.fallback is not built: PyTorch's own functions are not dispatched through kernels "
                                  "here. "
                                  "torch.overrides.TorchFunctionMode takes all functions over.")

    def _set(self, record: Operator, fact: str, value: Any) -> None:
        """Set an attribute of an operator's record until this library is destroyed."""
        before = getattr(record, fact)
        setattr(record, fact, value)
        self._undo.append(lambda: setattr(record, fact, before) if getattr(record, fact) is value else None)

    def _register_fake(self, op_name: str, fn: Callable, _stacklevel: int = 1, *, allow_override: bool = True) -> None:
        record = defined(self._name_of(op_name, "register_fake"))
        if not allow_override and record.fake is not None:
            raise RuntimeError(f"register_fake(...): the operator {record.name} already has an fake impl registered.")
        self._set(record, "fake", fn)

    def _destroy(self) -> None:
        self.m = None
        _undo_all(self._undo)


def _undefine(record: Operator) -> None:
    assert record.schema is not None
    name = record.schema.name
    record.schema = None
    OPERATORS.pop(record.name, None)
    if record in PACKETS.get(name, ()):
        PACKETS[name].remove(record)
    namespaces.forget(name)


def _restore(record: Operator, key: str, kernel: Callable, before: Callable | None) -> None:
    if record.kernels.get(key) is kernel:
        if before is None:
            del record.kernels[key]
        else:
            record.kernels[key] = before


@contextlib.contextmanager
def scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """Make a library for the block."""
    lib = Library(*args, **kwargs)
    try:
        yield lib
    finally:
        lib._destroy()


_kept: list[Library] = []


def library_for(namespace: str, lib: Library | None) -> Library:
    """Return the given library, or a new one that lives as long as the process."""
    if lib is None:
        lib = Library(namespace, "FRAGMENT")
        _kept.append(lib)
    return lib


def split_name(qualname: str) -> tuple[str, str]:
    """Split "namespace::name". Raise ValueError for other forms."""
    namespace, found, name = qualname.partition("::")
    if not found or "::" in name:
        raise ValueError(f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to '
                         "the torch.library APIs must consist of a namespace and a name, e.g. aten::sin")
    return namespace, name
