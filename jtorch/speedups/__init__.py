"""The optional C extension for the hot path. Without the extension everything works, more slowly. See docs/engine.md.

The extension implements the common cases of ``engine.record``, ``storage.value_of``, ``tensor.wrap``, ``dispatch.call`` and
others. It calls the Python functions for rare cases and for all errors. Classes, caches and rules exist in Python only.
"""
from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from jtorch._base.config import SPEEDUPS
from jtorch.speedups.constants import FOR_C
from jtorch.speedups.mirrors import MIRRORS, PYTHON


def is_stale(built: str | Path) -> bool:
    """Return whether a C source beside the built extension is newer than the extension."""
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
    """Replace a module's functions by the extension's (see ``MIRRORS``). ``space``: the module's ``globals()``.

    ``part``: the part of the extension that first reads the names it needs from the module. Return that part's result.
    """
    mine = [(name, path.split(":")[1]) for name, path in MIRRORS.items() if path.startswith(f"{space['__name__']}:")]
    PYTHON.update({name: space[at] for name, at in mine})
    if native is None:
        return None
    given = getattr(native, f"connect_{part}")(space) if part is not None else None
    space.update({at: getattr(native, name) for name, at in mine})
    return given
