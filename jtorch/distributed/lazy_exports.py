"""Lazy imports for public modules whose names are defined in layers below ``torch.distributed``."""
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from jtorch._base.not_built import placeholder


def lazy_getattr(module: str, where: dict[str, str], not_built: str = "") -> Callable[[str], Any]:
    """Return a module's ``__getattr__``, which imports each name from its defining module on first access.

    Args:
        module: the public module's name.
        where: maps a module of the package, without ``jtorch.``, to the names that it defines, separated by spaces.
        not_built: names that can be imported and raise NotImplementedError when they are used.

    """
    refused = frozenset(not_built.split())
    places = {name: place for place, listed in where.items() for name in listed.split()}

    def get(name: str) -> Any:
        if name in refused:
            return placeholder(module.removeprefix("jtorch."), name)
        if name not in places:
            raise AttributeError(f"module {module.replace('jtorch', 'torch', 1)!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"jtorch.{places[name]}"), name)
    get.__dict__["names"] = sorted(places)
    sys.modules[module].__dict__.setdefault("__all__", [n for n in places if not n.startswith("_")])    # for star imports
    return get
