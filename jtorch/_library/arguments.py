"""Binding of arguments to a schema, with the errors of PyTorch's dispatcher."""
from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

from jtorch._base.generator import Generator
from jtorch._base.layout import layout
from jtorch._library.schema import Argument, FunctionSchema, Type
from jtorch.device import device as Device
from jtorch.dtype import ALL
from jtorch.dtype import dtype as DType
from jtorch.tensor import Tensor


class Misfit(Exception):
    """A value does not fit its argument."""


def _number(value: Any, kinds: tuple) -> bool:
    return isinstance(value, kinds) or (isinstance(value, Tensor) and value.dim() == 0 and not value._requires_grad)


def _device(value: Any) -> Any:
    return Device(value) if isinstance(value, str) else value


_FITS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda v: v is None or isinstance(v, Tensor),
    "int": lambda v: _number(v, (numbers.Integral, DType, layout)),
    "float": lambda v: _number(v, (numbers.Real,)),
    "bool": lambda v: isinstance(v, bool) or type(v).__name__ == "bool_",
    "complex": lambda v: isinstance(v, numbers.Complex),
    "Scalar": lambda v: _number(v, (numbers.Number,)),
    "str": lambda v: isinstance(v, str),
    "Device": lambda v: isinstance(v, (str, Device)),
    "ScalarType": lambda v: isinstance(v, (DType, int)),
    "Generator": lambda v: isinstance(v, Generator),
}
_FITS.update({"SymInt": _FITS["int"], "SymFloat": _FITS["float"], "SymBool": _FITS["bool"], "number": _FITS["Scalar"]})


def fitted(value: Any, kind: Type) -> Any:
    """Return a value converted to an argument type. Raise Misfit if it does not fit."""
    if kind.is_optional:
        assert kind.element is not None
        return None if value is None else fitted(value, kind.element)
    if kind.is_list:
        return _list(value, kind)
    fits = _FITS.get(kind.name)
    if fits is not None and not fits(value):
        raise Misfit
    return _device(value) if kind.name == "Device" else value


def _list(value: Any, kind: Type) -> list:
    assert kind.element is not None
    if kind.size is not None and isinstance(value, numbers.Number):
        return [value] * kind.size
    if isinstance(value, Tensor) and kind.base() != "Tensor" and value.dim() == 1:
        value = value.tolist()      # type: ignore[attr-defined]
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise Misfit
    return [fitted(v, kind.element) for v in value]


def default(argument: Argument) -> Any:
    """Return the default value of an argument."""
    value = argument.default_value
    if isinstance(value, str):
        base = argument.type.base()
        return _device(value) if base == "Device" else (ALL.get(value, value) if base == "ScalarType" else value)
    return list(value) if isinstance(value, list) else value


class Binder:
    """Binds the arguments of calls to one schema."""

    numbers_are_tensors = False

    def __init__(self, schema: FunctionSchema):
        self.schema, self.arguments = schema, schema.arguments

    def refuse(self, says: str, what: str = "Declaration") -> None:
        raise RuntimeError(f"{says} {what}: {self.schema}")

    def bind(self, args: tuple, kwargs: dict) -> list:
        """Return a value for each argument of the schema. Raise the dispatcher's RuntimeErrors."""
        name, arguments = self.schema.name, self.arguments
        if len(args) + len(kwargs) > len(arguments):
            self.refuse_unknown(kwargs)
            self.refuse(f"{name}() expected at most {len(arguments)} argument(s) but received {len(args) + len(kwargs)} "
                        "argument(s).")
        values = []
        for i, a in enumerate(arguments):
            if i < len(args):
                if a.kwarg_only:
                    self.refuse(f"{name}() takes {i} positional argument(s) but {len(args)} was/were given. ")
                values.append(self.fit(args[i], a, i))
            elif a.name in kwargs:
                values.append(self.fit(kwargs[a.name], a, i))
            elif a.given_default:
                values.append(default(a))
            else:
                self.refuse(f"{name}() is missing value for argument '{a.name}'.")
        self.refuse_unknown(kwargs)
        for a in arguments[:len(args)]:
            if a.name in kwargs:
                self.refuse(f"Argument '{a.name}' specified both as positional and keyword argument.", "Schema")
        return values

    def refuse_unknown(self, kwargs: dict) -> None:
        """Raise RuntimeError for an unknown keyword."""
        known = {a.name for a in self.arguments}
        for key in kwargs:
            if key not in known:
                self.refuse(f"Unknown keyword argument '{key}' for operator '{self.schema.name}'.", "Schema")

    def fit(self, value: Any, a: Argument, i: int) -> Any:
        """Return the converted value of argument number ``i``."""
        if self.numbers_are_tensors and a.type.name == "Tensor" and isinstance(value, numbers.Number):
            return value
        try:
            return fitted(value, a.type)
        except Misfit:
            pass
        details = (f"Unable to cast {value!r} to Tensor" if a.type.name == "Tensor" else
                   f"Unable to cast Python instance of type {type(value)} to C++ type '?'")
        raise RuntimeError(f"{self.schema.name}() Expected a value of type '{a.type}' for argument '{a.name}' but instead "
                           "found type "
                           f"'{type(value).__name__}'.\nPosition: {i}\nValue: {value!r}\nDeclaration: {self.schema}\n"
                           f"Cast error details: {details}")

    def as_called(self, values: list) -> tuple[tuple, dict]:
        """Return (args, kwargs) for a Python kernel, without trailing defaults."""
        positional = [(v, a) for v, a in zip(values, self.arguments, strict=True) if not a.kwarg_only]
        while positional and _is_default(*positional[-1]):
            positional.pop()
        named = {a.name: v for v, a in zip(values, self.arguments, strict=True) if a.kwarg_only and not _is_default(v, a)}
        return tuple([v for v, _ in positional]), named

    def filled(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Return (args, kwargs) with all defaults filled in."""
        values = [args[i] if i < len(args) else kwargs[a.name] if a.name in kwargs else default(a)
                  for i, a in enumerate(self.arguments)]
        pairs = list(zip(values, self.arguments, strict=True))
        return tuple([v for v, a in pairs if not a.kwarg_only]), {a.name: v for v, a in pairs if a.kwarg_only}


def _is_default(value: Any, a: Argument) -> bool:
    if not a.given_default or any(isinstance(v, Tensor) for v in (value if isinstance(value, list) else [value])):
        return False
    expected = default(a)
    return type(value) is type(expected) and value == expected
