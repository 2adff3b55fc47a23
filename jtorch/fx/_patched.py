"""Patches that are active while a function is traced: attributes of modules and classes are replaced and restored."""
from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

_MISSING = object()


class Patcher:
    """Replaces entries of namespaces and attributes of classes until its block ends."""

    def __init__(self) -> None:
        self.undo: list[Callable[[], None]] = []
        self.visited: set[int] = set()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Callable, deduplicate: bool = True) -> None:
        """Replace an entry of a namespace, or shadow the builtin of this name."""
        old = frame_dict.get(name, _MISSING)
        if old is _MISSING and not hasattr(builtins, name):
            raise KeyError(name)
        if old is not _MISSING and getattr(old, "_fx_already_patched", False):
            return
        new_fn._fx_already_patched = deduplicate       # type: ignore[attr-defined]
        frame_dict[name] = new_fn
        self.undo.append(lambda: frame_dict.pop(name) and None if old is _MISSING else frame_dict.update({name: old}))

    def patch_method(self, cls: type, name: str, new_fn: Callable, deduplicate: bool = True) -> None:
        """Replace an attribute of a class."""
        old = getattr(cls, name)
        if getattr(old, "_fx_already_patched", False):
            return
        new_fn._fx_already_patched = deduplicate       # type: ignore[attr-defined]
        own = name in vars(cls)
        setattr(cls, name, new_fn)
        self.undo.append(lambda: setattr(cls, name, old) if own else delattr(cls, name))

    def visit_once(self, thing: Any) -> bool:
        """Return whether a namespace is visited for the first time."""
        first = id(thing) not in self.visited
        self.visited.add(id(thing))
        return first

    def __enter__(self) -> Patcher:
        return self

    def __exit__(self, *exc: Any) -> None:
        while self.undo:
            self.undo.pop()()
        self.visited.clear()
