"""Source code that becomes a function, and that tracebacks show."""
from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

from jtorch.fx._namespace import _custom_builtins

_numbers = itertools.count()


class _Sources:
    """The loader that linecache asks for the source of generated files."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def get_source(self, name: str) -> str | None:
        """Return the source of a generated file."""
        return self.kept.get(name)

    def keep(self, src: str, names: dict[str, Any], co_fields: dict[str, Any] | None) -> str:
        """Store a source, and return the name of its file."""
        key = f"<eval_with_key>.{next(_numbers)}"
        if co_fields and "co_name" in co_fields:
            key += f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}"
        self.kept[key] = src
        linecache.lazycache(key, {**names, "__file__": key, "__name__": key, "__loader__": self})
        return key


_loader = _Sources()


def function_from(src: str, names: dict[str, Any], co_fields: dict[str, Any] | None = None, name: str = "forward") -> Callable:
    """Return the function that a source defines with the globals ``names``."""
    known = dict(names)
    exec(compile(src, _loader.keep(src, known, co_fields), "exec", dont_inherit=True), known)
    return known.pop(name)


def import_block(names: dict[str, Any], name_of: Callable[[Any], tuple[str, str]] | None = None) -> str:
    """Return the import statements of a source's globals; ``name_of`` gives an object's module and name."""
    return "\n".join(sorted({_import_of(n, obj, name_of or _name_of) for n, obj in names.items()}))


def _import_of(name: str, obj: Any, name_of: Callable[[Any], tuple[str, str]]) -> str:
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    module, short = name_of(obj)
    return f"from {module} import {short} as {name}"


def _name_of(obj: Any) -> tuple[str, str]:
    short = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    module = getattr(obj, "__module__", None)
    if module is None or short is None or "<" in short:
        raise RuntimeError(f"Can't pickle {obj}: it's not found as a name of a module")
    return module, short


def with_imports(block: str, src: str) -> tuple[str, dict[str, Any]]:
    """Return a source with the imports that it has to run, and the globals that replace the other imports of ``block``."""
    known = {v.import_str: (n, v.obj) for n, v in _custom_builtins.items()}
    lines = block.split("\n")
    return "\n".join([*[line for line in lines if line not in known], src]), dict(known[line] for line in lines if line in known)
