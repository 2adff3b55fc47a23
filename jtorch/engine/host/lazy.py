"""Import a module at the first use of an attribute."""
from __future__ import annotations

import importlib
from typing import Any


class Lazy:
    """A module by name. SciPy's modules take long to import, and most programs need none of them."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = self.__dict__[attribute] = getattr(importlib.import_module(self._name), attribute)
        return found
