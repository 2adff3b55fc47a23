"""Modules imported where something of them is first used."""
from __future__ import annotations

import importlib
from typing import Any


class Lazy:
    """A module by name. SciPy's take 0.3 s to import, and most programs need none of them."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = self.__dict__[attribute] = getattr(importlib.import_module(self._name), attribute)
        return found
