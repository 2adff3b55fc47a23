"""Names of GPU libraries that a program can prefer. XLA ignores the choice."""
from __future__ import annotations

import enum


class _Backend(enum.Enum):
    """An enum with PyTorch's repr."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    __repr__ = __str__


class _LinalgBackend(_Backend):
    Default, Cusolver, Magma = range(3)


class _BlasBackend(_Backend):
    Default, Cublas, Cublaslt, Ck = range(4)
