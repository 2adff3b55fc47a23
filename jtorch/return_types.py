"""torch.return_types: the named tuples of functions with several results."""
from __future__ import annotations

from typing import Any

from jtorch.dispatch.returns import return_type
from jtorch.ops.registry import OPS

# Functions with named results that are not ops themselves, and the names of their results.
_OF_FUNCTIONS = {"slogdet": ("sign", "logabsdet"), "histogramdd": ("hist", "bin_edges")}


def __getattr__(name: str) -> Any:
    short = name.removesuffix("_out")
    if short in _OF_FUNCTIONS:
        return return_type(short, _OF_FUNCTIONS[short])
    for op in OPS.values():
        if op.returns and _name_of(op) == short:
            return return_type(short, op.returns)
    raise AttributeError(f"module 'torch.return_types' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({_name_of(op) for op in OPS.values() if op.returns} | set(_OF_FUNCTIONS))


def _name_of(op: Any) -> str:
    return op.name.replace("linalg.", "linalg_").split(".")[-1]     # type: ignore[no-any-return]
