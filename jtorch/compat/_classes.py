"""torch.classes: classes of C++ libraries, which cannot be loaded."""
from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, NoReturn


class _Namespace(ModuleType):
    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(f"Tried to instantiate class '{self.__name__.removeprefix('torch.classes.')}.{name}', but it does not "
                           "exist! Ensure that it is registered via torch::class_")


class _Classes(ModuleType):
    """Gives access to ``torch.classes.<library>.<class>``. See torch.classes."""

    loaded_libraries: frozenset[str] = frozenset()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _Namespace(f"torch.classes.{name}")
        setattr(self, name, found)
        return found

    def load_library(self, path: Any) -> NoReturn:
        """Raise OSError: PyTorch's C++ libraries cannot be loaded."""
        raise OSError(f"{path}: libraries for PyTorch cannot be loaded; jax.ffi calls compiled code")


classes = _Classes("jtorch.classes", "torch.classes")
sys.modules["jtorch.classes"] = classes
