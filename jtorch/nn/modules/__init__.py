"""torch.nn.modules: the files of torch.nn under the names that they have in PyTorch.

``from torch.nn.modules.module import register_module_forward_hook`` and ``from torch.nn.modules.loss import _Loss`` work as
there; what is public is better taken from ``torch.nn``.
"""
from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Any

from jtorch import nn

_PARENT = "jtorch.nn."
_ELSEWHERE = {"functional", "init", "utils", "parameter", "parallel", "modules", "loss_functions", "linear_cross_entropy"}
_RENAMED = {"containers": "container"}
_OWN_FILES = {info.name for info in pkgutil.iter_modules(__path__)}


def _expose() -> None:
    """Gives what ``jtorch.nn`` has imported a second name here."""
    for full, module in list(sys.modules.items()):
        name = full.removeprefix(_PARENT)
        if full.startswith(_PARENT) and "." not in name and not name.startswith("_") and name not in _ELSEWHERE | _OWN_FILES:
            name = _RENAMED.get(name, name)
            sys.modules[f"{__name__}.{name}"] = globals()[name] = module


_expose()


def __getattr__(name: str) -> Any:
    if name in _OWN_FILES:
        return importlib.import_module(f"{__name__}.{name}")
    try:
        return getattr(nn, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
