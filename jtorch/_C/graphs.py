"""Classes of TorchScript's compiled programs, which ``isinstance`` asks about. There are none here, and none can be made."""
from __future__ import annotations

from typing import Any


class _OfScripts:
    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(f"torch._C.{type(self).__name__} is not built: there is no TorchScript here; "
                                  "jax.make_jaxpr(function) gives JAX's form of a program.")


class ScriptObject(_OfScripts):
    """An object of a class in C++."""


class ScriptFunction(_OfScripts):
    """A compiled function."""


class ScriptMethod(_OfScripts):
    """A compiled method."""


class ScriptModule(_OfScripts):
    """A compiled module's part in C++."""


class Graph(_OfScripts):
    """A compiled program."""


class Value(_OfScripts):
    """A value of a compiled program."""


class Node(_OfScripts):
    """An operation of a compiled program."""


class Block(_OfScripts):
    """A part of a compiled program."""


class CompilationUnit(_OfScripts):
    """Where compiled programs are."""


class PyTorchFileReader(_OfScripts):
    """A reader of archives; ``torch.load`` reads them."""


class PyTorchFileWriter(_OfScripts):
    """A writer of archives; ``torch.save`` writes them."""


class TensorType(_OfScripts):
    """The type of tensors."""


class AnyType(_OfScripts):
    """The type of anything."""


class NoneType(_OfScripts):
    """The type of None."""
