"""The registry of composite rules."""
from __future__ import annotations

from collections.abc import Callable

COMPOSITES: dict[str, Callable] = {}


def composite(*names: str) -> Callable:
    """Register a function as the composite rule of some ops."""
    def note(rule: Callable) -> Callable:
        for name in names:
            COMPOSITES[name] = rule
        return rule
    return note
