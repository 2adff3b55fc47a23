"""torch._inductor.exc: errors of PyTorch's code generator. Only InvalidCxxCompiler is ever raised in jtorch."""
from __future__ import annotations


class InductorError(RuntimeError):
    """A program could not be compiled."""


class CppCompileError(RuntimeError):
    """A C++ program could not be compiled."""


class InvalidCxxCompiler(RuntimeError):
    """No C++ compiler was found."""

    def __init__(self) -> None:
        super().__init__("No working C++ compiler found in CXX, g++, clang++ or c++.")
