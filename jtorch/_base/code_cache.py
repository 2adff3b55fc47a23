"""A cache of compiled generated code, in ``__pycache__`` like Python's own compiled files."""
from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import sys
from types import CodeType

_WRITTEN_BY = (importlib.util.MAGIC_NUMBER, sys.flags.optimize)


def compiled(source: str, filename: str, module: str) -> CodeType:
    """Return ``compile(source, filename, "exec")``, cached in the ``__pycache__`` of the file ``module``.

    The key is a SHA-256 of the source, the file name and Python's version. ``PYTHONDONTWRITEBYTECODE`` and
    ``PYTHONPYCACHEPREFIX`` work as they do for modules. A folder that is not writable is no error.
    """
    place = _place(module)
    key = hashlib.sha256(repr((_WRITTEN_BY, filename)).encode() + source.encode()).digest()
    kept = _read(place, key) if place else None
    if kept is not None:
        return kept
    code = compile(source, filename, "exec")
    if place and not sys.dont_write_bytecode:
        _write(place, key + marshal.dumps(code))
    return code


def _place(module: str) -> str | None:
    try:
        return importlib.util.cache_from_source(module) + ".made"
    except NotImplementedError:     # this Python writes no bytecode files
        return None


def _read(place: str, key: bytes) -> CodeType | None:
    try:
        with open(place, "rb") as file:
            return marshal.loads(file.read()) if file.read(len(key)) == key else None
    except (OSError, ValueError, EOFError, TypeError):      # the file is missing or damaged
        return None


def _write(place: str, content: bytes) -> None:
    mine = f"{place}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(os.open(mine, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), "wb") as file:
            file.write(content)
        os.replace(mine, place)     # atomic, so other processes never read part of a file
    except OSError:
        pass
