"""Puts names where PyTorch has them, so that none hides another by accident."""
from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

from jtorch._api import replaced


def put(space: ModuleType | type, named: Mapping[str, Any], *, replaces: bool = False) -> None:
    """Gives a module or class attributes.

    RuntimeError for a name that is taken, unless the call ``replaces`` what is there; then, for one that is not taken. What was
    replaced first under a name is kept in ``jtorch._api.replaced``.
    """
    taken = vars(space)
    for name, value in named.items():
        old = taken.get(name, _FREE)
        if old is value:
            continue
        if (old is _FREE) is replaces:
            raise RuntimeError(f"{space.__name__}.{name} is {'replaced before it is made' if replaces else 'made twice'}")
        if old.__class__ is FunctionType:
            vars(replaced).setdefault(name, old)
        setattr(space, name, value)


def public(space: ModuleType) -> dict[str, Any]:
    """What has been put into a module."""
    return {name: value for name, value in vars(space).items() if not name.startswith("__")}


_FREE = object()
