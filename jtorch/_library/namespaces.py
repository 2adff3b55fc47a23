"""torch.ops: namespaces, their operators ("packets") and each operator's overloads."""
from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from jtorch._api.torch_function import NOT_OVERRIDDEN
from jtorch._base import late_bindings
from jtorch._base.error_notes import with_note
from jtorch._library import aten, extensions
from jtorch._library.dispatch_keys import DispatchKey
from jtorch._library.operators import PACKETS, Operator, taken_over


class OperatorBase:
    """The base class of overloads and higher-order operators."""


class OpOverload(OperatorBase):
    """One callable overload of an operator. See torch._ops.OpOverload."""

    def __init__(self, packet: OpOverloadPacket, op: Operator):
        assert op.schema is not None
        self._overloadpacket, self._record, self._schema = packet, op, op.schema
        self._overloadname = op.schema.overload_name or "default"
        self._name = op.schema.full_name
        self._namespace, self._opname = op.schema.name.split("::")
        self.__name__ = f"{self._opname}.{self._overloadname}"
        self.__module__ = packet.__module__
        self.__qualname__ = self._name
        self._defined_in_python = not isinstance(op, aten.AtenOperator)
        self.py_kernels: dict[Any, Callable] = {}
        self.is_view = op.schema._is_view_op()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        made = taken_over(self, args, kwargs)
        return self._record(*args, **kwargs) if made is NOT_OVERRIDDEN else made

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self._opname}.{self._overloadname}"

    def __hash__(self) -> int:
        return hash(self._name)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __deepcopy__(self, memo: Any = None) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return _found, (self._namespace, self._opname, self._overloadname)

    @property
    def namespace(self) -> str:
        """The namespace, such as "aten"."""
        return self._namespace

    @property
    def op(self) -> Callable:
        """The callable behind this object."""
        return self._record

    _op = op

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The operator to which this overload belongs."""
        return self._overloadpacket

    @property
    def tags(self) -> list:
        """The tags that the operator's author gave."""
        return self._record.tags

    _tags = tags

    def name(self) -> str:
        """Return the name in the form "ns::name.overload"."""
        return self._name

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        """Return whether a kernel is registered for a key."""
        return k in self.py_kernels or k.name in self._record.kernels

    def redispatch(self, /, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the device's kernel, below autograd."""
        return self._record.redispatch(args, kwargs)

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Call the composite kernel. Return NotImplemented if there is none."""
        kernel = self._record.kernels.get("CompositeImplicitAutograd") if self._can_decompose() else None
        return NotImplemented if kernel is None else kernel(*args, **kwargs)

    def _can_decompose(self) -> bool:
        if not isinstance(self._record, aten.AtenOperator):
            return True
        return aten.is_composite(self._name) and (late_bindings.aten is None or late_bindings.aten.decomposes(self._name))

    def py_impl(self, key: Any) -> Callable:
        """Register the kernel of a dispatch key, or a rule ``(mode or class, *args, **kwargs)`` for ``__torch_dispatch__``."""
        def register(kernel: Callable) -> Callable:
            if not isinstance(key, DispatchKey):
                self._record.rules[key] = lambda who, func, types, args, kwargs: kernel(who, *args, **kwargs)
                return kernel
            self.py_kernels[key] = self._record.kernels[key.name] = kernel
            return kernel
        return register


class OpOverloadPacket:
    """An operator with all its overloads. See torch._ops.OpOverloadPacket."""

    def __init__(self, name: str, records: list[Operator]):
        self._qualified_op_name, self._records = name, records
        self._namespace, self.__name__ = name.split("::")
        self.__module__ = f"torch._ops.{self._namespace}"

    def __getattr__(self, key: str) -> OpOverload:
        if key.startswith("__"):
            raise AttributeError(f"'{self}' can't have an overload name beginning with '__' and the underlying op has no "
                                 "attribute "
                                 f"{key} either.")
        wanted = "" if key == "default" else key
        for record in self._records:
            assert record.schema is not None
            if record.schema.overload_name == wanted:
                made = vars(self)[key] = OpOverload(self, record)
                return made
        raise AttributeError(f"The underlying op of '{self}' has no overload name '{key}'")

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        made = taken_over(self, args, kwargs)
        if made is not NOT_OVERRIDDEN:
            return made
        if len(self._records) == 1:
            return self._records[0](*args, **kwargs)
        return self._fitting(args, kwargs)

    def _fitting(self, args: tuple, kwargs: dict) -> Any:
        """Call the first overload whose schema accepts the arguments."""
        says = []
        for record in self._records:
            try:
                values = record.binder.bind(args, kwargs)
            except RuntimeError as error:
                says.append(str(error))
                continue
            return record.run(*record.binder.as_called(values))
        raise RuntimeError(f"Overloaded torch operator invoked from Python failed to match any schema:\n{chr(10).join(says)}")

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"

    def __hash__(self) -> int:
        return hash(self._qualified_op_name)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __deepcopy__(self, memo: Any = None) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> Any:
        return _found, (self._namespace, self.__name__)

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    @property
    def op(self) -> Callable:
        """The callable behind this object."""
        return self.__call__

    _op = op

    @property
    def _schemas(self) -> dict:
        return {r.schema.overload_name: r.schema for r in self._records if r.schema is not None}

    _overload_names = property(lambda self: list(self._schemas))

    def overloads(self) -> list[str]:
        """Return the names of the overloads."""
        return [name or "default" for name in self._schemas]

    def op_overloads(self) -> list[OpOverload]:
        """Return the overloads."""
        return [getattr(self, name) for name in self.overloads()]


# Maps namespaces to the modules that fill them at their first use.
_FILLED_BY = {**dict.fromkeys(("_c10d_functional", "c10d_functional", "c10d"), "collectives"),
              "quantized_decomposed": "quantized_decomposed"}


class _Namespace(ModuleType):
    """The operators of one namespace, which are created at first use."""

    __file__ = "torch.ops"

    def __init__(self, name: str):
        super().__init__(f"torch.ops.{name}")
        self.name = name
        self._dir: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return iter(self._dir)

    def __getattr__(self, op_name: str) -> Any:
        full = f"{self.name}::{op_name}"
        if (self.name == "aten" and full not in PACKETS and not op_name.startswith("__")) or aten.is_dunder(full):
            aten.define(op_name)
        elif self.name in _FILLED_BY and full not in PACKETS:
            importlib.import_module(f"jtorch._library.{_FILLED_BY[self.name]}")
        records = PACKETS.get(full)
        if not records:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op_name}'")
        made = vars(self)[op_name] = OpOverloadPacket(full, records)
        self._dir.append(op_name)
        return made


_OpNamespace = type("_OpNamespace", (_Namespace,), {"__module__": "torch._ops", "__doc__": _Namespace.__doc__})


class _HigherOrder(ModuleType):
    """torch.ops.higher_order, which is empty."""

    __file__ = "torch.ops"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'_HigherOrderNamespace' 'torch.ops.higher_order' object has no attribute '{name}'")


class _Ops(ModuleType):
    """See torch.ops."""

    __file__ = "_ops.py"

    def __init__(self) -> None:
        super().__init__("torch.ops")
        self.loaded_libraries: set[str] = set()
        self.higher_order = _HigherOrder("torch.ops.higher_order")
        self._dir: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in ("__path__", "__spec__", "__wrapped__", "__all__"):
            raise AttributeError(name)
        made = vars(self)[name] = _OpNamespace(name)
        self._dir.append(name)
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._dir)

    def import_module(self, module: str) -> None:
        """Import a module that registers operators."""
        importlib.import_module(module)

    def load_library(self, path: Any) -> None:
        """Load a compiled library of operators, or this package's replacement for it. See torch.ops.load_library.

        Raise OSError if the file does not exist or needs PyTorch itself.
        """
        path = os.path.realpath(path) if os.path.exists(path) else os.fspath(path)
        if not extensions.load(path):
            try:
                ctypes.CDLL(path)
            except Exception as error:
                raise with_note(OSError(f"Could not load this library: {path}"), "Operators compiled against PyTorch "
                                                                                 "need PyTorch itself; "
                                "jax.ffi calls compiled code, and torch.library.custom_op makes operators of Python.") from error
        self.loaded_libraries.add(path)


def _found(space: str, name: str, overload: str | None = None) -> Any:
    packet = getattr(getattr(ops, space), name)
    return packet if overload is None else getattr(packet, overload)


def forget(name: str) -> None:
    """Drop the cached packet of an operator whose overloads have changed."""
    space, _, short = name.partition("::")
    namespace = vars(ops).get(space)
    if namespace is not None and short in vars(namespace):
        del vars(namespace)[short]
        namespace._dir.remove(short)


def overload_of(name: str) -> OpOverload:
    """Return the overload "ns::name" or "ns::name.overload". Raise AttributeError if there is none."""
    space, _, last = name.partition("::")
    short, _, overload = last.partition(".")
    return getattr(getattr(getattr(ops, space), short), overload or "default")


ops = _Ops()
