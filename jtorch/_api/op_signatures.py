"""Signatures of functions made from op records, as ``inspect.signature`` and ``help`` show them.

A generated function has more parameters than PyTorch's: NumPy's names for arguments, and a guard for old positional calls. A
signature has those of the record, and is made when it is read.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from jtorch.ops.registry import Op

CREATION = {"layout": None, "device": None, "requires_grad": False, "pin_memory": False}


class OpSignature(inspect.Signature):
    """The signature of one of an op's functions. ``form``: ``function``, ``inplace`` or ``functional``."""

    __slots__ = ("_form", "_op")
    _op: Op
    _form: str

    @classmethod
    def of(cls, op: Op, form: str) -> OpSignature:
        """Return the signature of an op's function."""
        made = cls()
        made._op, made._form = op, form
        return made

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:      # type: ignore[override]
        """The parameters by name, in their order."""
        return _parameters_of(self._op, self._form)

    def __reduce__(self) -> tuple:
        return inspect.Signature, (list(self.parameters.values()),)


@functools.cache
def _parameters_of(op: Op, form: str) -> Mapping[str, inspect.Parameter]:
    return MappingProxyType({p.name: p for p in _listed(op, form)})


def _listed(op: Op, form: str) -> Iterator[inspect.Parameter]:
    yield from of_record(op, form)
    for name, default in _of_creation(op) if form == "function" else ():
        if name not in {p.name for p in op.params}:
            yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)


def of_record(op: Op, form: str = "function") -> Iterator[inspect.Parameter]:
    """Yield the parameters of an op's record, with ``inplace`` or ``out``."""
    by_name, by_place = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    are_named = False
    for p in op.params:
        if p.keyword_only and form == "functional" and not are_named:
            yield _inplace()
        are_named = are_named or p.keyword_only or p.varargs
        kind = inspect.Parameter.VAR_POSITIONAL if p.varargs else by_name if are_named else by_place
        yield inspect.Parameter(p.name, kind, default=inspect.Parameter.empty if p.varargs else p.default)
    if form == "functional" and not are_named:
        yield _inplace()
    if form == "function" and op.out.form and not op.writes:
        yield inspect.Parameter("out", by_name, default=None)


def _of_creation(op: Op) -> Iterator[tuple[str, Any]]:
    """Yield the parameters that all functions that make tensors have, with their defaults; nothing for another op."""
    if op.creates:
        yield from CREATION.items()
        if op.name == "empty" or op.name.endswith("_like"):
            yield "memory_format", None


def _inplace() -> inspect.Parameter:
    return inspect.Parameter("inplace", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False)
