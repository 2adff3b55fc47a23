"""The hot path in C, where it was built; everything runs without it too, a little slower. See docs/engine.md.

The extension does what ``engine.record``, ``storage.value_of``, ``tensor.wrap``, ``dispatch.call`` and ``walks`` do, on the
ways that loops take. On all others, and for all errors, it calls that Python. Classes, caches and rules are Python's alone.
"""
from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from jtorch._base.config import SPEEDUPS
from jtorch.speedups.constants import FOR_C
from jtorch.speedups.mirrors import MIRRORS, PYTHON


def is_stale(built: str | Path) -> bool:
    """Whether the sources, where they lie beside it, are newer than what was built of them."""
    made = Path(built).stat().st_mtime
    beside = Path(built).parent.iterdir()
    return any([source.stat().st_mtime > made for source in beside if source.suffix in (".c", ".cc", ".h")])


def _load() -> Any:
    if not SPEEDUPS:
        return None
    try:
        found = importlib.import_module("jtorch.speedups._speedups")
    except ImportError:
        return None
    if found.__file__ is not None and is_stale(found.__file__):
        return None
    found.set_constants(FOR_C)
    return found


native = _load()


def connect(space: dict[str, Any], part: str | None = None) -> Any:
    """Puts the extension's functions in place of those of a module's (its ``globals()``) that they mirror, see ``MIRRORS``.

    ``part``: of the extension, which takes the names that it needs of the module first. Gives what it gives.
    """
    mine = [(name, path.split(":")[1]) for name, path in MIRRORS.items() if path.startswith(f"{space['__name__']}:")]
    PYTHON.update({name: space[at] for name, at in mine})
    if native is None:
        return None
    given = getattr(native, f"connect_{part}")(space) if part is not None else None
    space.update({at: getattr(native, name) for name, at in mine})
    return given
