"""Which library a kind of calls goes to on a GPU, in name: XLA chooses by itself."""
from __future__ import annotations

import enum


class _Backend(enum.Enum):
    """A choice, which shows itself as PyTorch's does."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    __repr__ = __str__


class _LinalgBackend(_Backend):
    Default, Cusolver, Magma = range(3)


class _BlasBackend(_Backend):
    Default, Cublas, Cublaslt, Ck = range(4)
