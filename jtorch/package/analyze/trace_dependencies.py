"""The modules that a function uses as it runs."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

__all__ = ["trace_dependencies"]


def trace_dependencies(callable: Callable[[Any], Any], inputs: Iterable[tuple[Any, ...]]) -> list[str]:
    """Call ``callable`` with each tuple of ``inputs``, and return the names of the modules of all functions that ran."""
    used: set[str] = set()

    def note(frame: FrameType, event: str, arg: Any) -> None:
        module = _module_of(frame) if event == "call" else None
        if module:
            used.add(module)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for given in inputs:
            callable(*given)
    finally:
        sys.setprofile(before)
    return list(used)


def _module_of(frame: FrameType) -> str | None:
    """Return the module of the function that a frame runs: of a global or local of its name, or of a method of ``self``."""
    name = frame.f_code.co_name
    for names in (frame.f_globals, frame.f_locals):
        if name in names:
            return names[name].__module__
    return getattr(getattr(frame.f_locals.get("self"), name, None), "__module__", None)
