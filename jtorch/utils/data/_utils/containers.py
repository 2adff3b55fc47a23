"""Mappings and sequences made anew with other elements, of the same type where that type lets itself be made."""
from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence
from typing import Any


def mapping_like(given: Mapping, items: dict) -> Any:
    """``items`` in a mapping like ``given``: a changed copy where it can be changed, so that its other attributes stay."""
    try:
        if not isinstance(given, MutableMapping):
            return type(given)(items)       # type: ignore[call-arg]
        made = copy.copy(given)
        made.update(items)
    except TypeError:
        return items
    return made


def sequence_like(given: Any, items: list) -> Any:
    """``items`` in a sequence like ``given``."""
    try:
        if not isinstance(given, MutableSequence):
            return type(given)(items)       # type: ignore[call-arg]
        made: Any = copy.copy(given)
        for i, item in enumerate(items):
            made[i] = item
    except TypeError:
        return items
    return made


def is_namedtuple(x: Any) -> bool:
    """Return whether ``x`` is a tuple with field names."""
    return isinstance(x, tuple) and hasattr(x, "_fields")
