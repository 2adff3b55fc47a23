"""Which ops are several of PyTorch's operators."""
from __future__ import annotations

from collections.abc import Callable

COMPOSITES: dict[str, Callable] = {}


def composite(*names: str) -> Callable:
    """Says of which ops a function is the rule."""
    def note(rule: Callable) -> Callable:
        for name in names:
            COMPOSITES[name] = rule
        return rule
    return note
