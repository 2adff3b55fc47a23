"""torch._inductor.exc: errors of PyTorch's code generator. Only a missing compiler is ever one here."""
from __future__ import annotations


class InductorError(RuntimeError):
    """A program could not be compiled."""


class CppCompileError(RuntimeError):
    """A program in C++ could not be compiled."""


class InvalidCxxCompiler(RuntimeError):
    """No compiler of C++ was found."""

    def __init__(self) -> None:
        super().__init__("No working C++ compiler found in CXX, g++, clang++ or c++.")
