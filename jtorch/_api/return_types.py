"""torch.return_types: the named tuples of functions with several results."""
from __future__ import annotations

from types import ModuleType
from typing import Any

from jtorch.dispatch.returns import return_type
from jtorch.ops.registry import OPS


class _ReturnTypes(ModuleType):
    """Has a class for each op that names its results; a call's result is of the class that is had from here."""

    def __getattr__(self, name: str) -> Any:
        for op in OPS.values():
            if op.returns and op.name.replace("linalg.", "linalg_").split(".")[-1] == name.removesuffix("_out"):
                return return_type(name.removesuffix("_out"), op.returns)
        raise AttributeError(f"module 'torch.return_types' has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({op.name.replace("linalg.", "linalg_").split(".")[-1] for op in OPS.values() if op.returns})


module = _ReturnTypes("jtorch.return_types", "torch.return_types")
