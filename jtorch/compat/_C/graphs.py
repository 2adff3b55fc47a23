"""Classes of TorchScript's compiled programs, for ``isinstance``. They have no instances in jtorch."""
from __future__ import annotations

from typing import Any


class _OfScripts:
    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(f"torch._C.{type(self).__name__} is not built: there is no TorchScript here; "
                                  "jax.make_jaxpr(function) gives JAX's form of a program.")


class ScriptObject(_OfScripts):
    """An object of a C++ class."""


class ScriptFunction(_OfScripts):
    """A compiled function."""


class ScriptMethod(_OfScripts):
    """A compiled method."""


class ScriptModule(_OfScripts):
    """The C++ part of a compiled module."""


class Block(_OfScripts):
    """A part of a compiled program."""


class CompilationUnit(_OfScripts):
    """A container of compiled programs."""


class PyTorchFileReader(_OfScripts):
    """A reader of archives; ``torch.load`` reads them."""


class PyTorchFileWriter(_OfScripts):
    """A writer of archives; ``torch.save`` writes them."""


class Type(_OfScripts):
    """A type of TorchScript, for annotations and ``isinstance``."""


# Maps each type's name to a description of its values.
_TYPES = {
    "TensorType": "a tensor", "AnyType": "anything", "NoneType": "None", "AggregationType": "a sum or a mean",
    "AwaitType": "a value to be computed", "BoolType": "a bool", "ClassType": "an object of a class",
    "ComplexType": "a complex", "ConcreteModuleType": "a module", "DeviceObjType": "a device", "DictType": "a dict",
    "EnumType": "a member of an enum", "FloatType": "a float", "FutureType": "a result to come",
    "InferredType": "a value whose type was guessed", "IntType": "an int", "InterfaceType": "an object with some methods",
    "ListType": "a list", "NumberType": "a number", "OptionalType": "a value or None", "PyObjectType": "a Python object",
    "RRefType": "a value of another process", "StreamObjType": "a stream", "StringType": "a str",
    "SymBoolType": "a symbolic bool", "SymIntType": "a symbolic int", "TupleType": "a tuple",
    "UnionType": "a value of several types",
}
globals().update({name: type(name, (Type,), {"__doc__": f"The type of {what}.", "__module__": __name__})
                  for name, what in _TYPES.items()})
TYPES = ("Type", *_TYPES)
