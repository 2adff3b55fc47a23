"""Copies of mappings and sequences with other elements, of the same type where the type allows it."""
from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence
from typing import Any


def mapping_like(given: Mapping, items: dict) -> Any:
    """Return ``items`` in a mapping like ``given``; a changed copy of a mutable mapping keeps its other attributes."""
    try:
        if not isinstance(given, MutableMapping):
            return type(given)(items)       # type: ignore[call-arg]
        made = copy.copy(given)
        made.update(items)
    except TypeError:
        return items
    return made


def sequence_like(given: Any, items: list) -> Any:
    """Return ``items`` in a sequence like ``given``."""
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
