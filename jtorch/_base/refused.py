"""PyTorch functions that are not built. They can be imported, and calling them raises NotImplementedError."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any


def refused(name: str, instead: str) -> Callable:
    """Return a placeholder for the function ``torch.<name>``. ``instead``: advice for the error message."""
    says = f"torch.{name} is not built; {instead}"

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(says)
    refuse.__name__, refuse.__doc__ = name.rpartition(".")[2], says
    return refuse
