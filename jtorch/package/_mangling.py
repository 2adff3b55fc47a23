"""Names of packed modules. A prefix of their importer tells them from modules of the same name in ``sys.modules``."""
from __future__ import annotations

import itertools
import re

_numbers = itertools.count()
_PREFIX = re.compile(r"<torch_package_\d+>")


class PackageMangler:
    """Adds and removes the prefix of one importer, such as ``<torch_package_0>``."""

    def __init__(self) -> None:
        self._mangle_parent = f"<torch_package_{next(_numbers)}>"

    def mangle(self, name: str) -> str:
        """Return the name with the prefix. Raise AssertionError for an empty name."""
        if not name:
            raise AssertionError("name must not be empty")
        return f"{self._mangle_parent}.{name}"

    def demangle(self, mangled: str) -> str:
        """Return the name without the prefix of this importer. Other names are unchanged."""
        return mangled.removeprefix(f"{self._mangle_parent}.")

    def parent_name(self) -> str:
        """Return the prefix."""
        return self._mangle_parent


def is_mangled(name: str) -> bool:
    """Return whether a name has the prefix of an importer."""
    return _PREFIX.match(name) is not None


def demangle(name: str) -> str:
    """Return a name without the prefix of any importer."""
    return name.partition(".")[2] if is_mangled(name) else name


def get_mangle_prefix(name: str) -> str:
    """Return the prefix of a name, and a name without one as it is."""
    return name.partition(".")[0] if is_mangled(name) else name
