"""Functions of PyTorch's that are not here: their names can be imported, and a call raises NotImplementedError."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any


def refused(name: str, instead: str) -> Callable:
    """What stands for the function ``name`` (its path without ``torch.``); ``instead``: what can be done."""
    says = f"torch.{name} is not built; {instead}"

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(says)
    refuse.__name__, refuse.__doc__ = name.rpartition(".")[2], says
    return refuse
