"""The question whether an object comes from a package."""
from __future__ import annotations

from types import ModuleType
from typing import Any

from jtorch.package._mangling import is_mangled


def is_from_package(obj: Any) -> bool:
    """Return whether a module, or the class of another object, was loaded from a package, and is not external to it."""
    return is_mangled(obj.__name__ if type(obj) is ModuleType else type(obj).__module__)
