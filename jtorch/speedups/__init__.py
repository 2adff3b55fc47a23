"""The hot path in C, where it was built; everything runs without it too, a little slower. See docs/engine.md.

The extension does what ``engine.record``, ``storage.value_of``, ``tensor.wrap``, ``dispatch.call`` and ``walks`` do, on the
ways that loops take. On all others, and for all errors, it calls that Python. Classes, caches and rules are Python's alone.
"""
from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from jtorch._base.config import SPEEDUPS


def _is_stale(built: Any) -> bool:
    """Whether the sources, where they lie beside it, are newer than the extension."""
    here = Path(__file__).parent
    made = Path(built).stat().st_mtime
    return any([source.stat().st_mtime > made for source in here.glob("*.[ch]")])


def _load() -> Any:
    if not SPEEDUPS:
        return None
    try:
        found = importlib.import_module("jtorch.speedups._speedups")
    except ImportError:
        return None
    return None if _is_stale(found.__file__) else found


native = _load()
