"""Imports the libraries that jtorch needs, even if a file beside the user's program has the same name.

Python searches the program's folder first, so a user's ``jax.py`` would hide JAX. ``import jtorch`` imports this module first.
"""
from __future__ import annotations

import importlib
import logging
import os
import sys
import warnings

NAMES = ("numpy", "ml_dtypes", "scipy", "opt_einsum", "jaxlib", "jax")


def shadowed(folder: str) -> list[str]:
    """Return those of ``NAMES`` that are also the names of files in ``folder``."""
    return [name for name in NAMES if os.path.isfile(os.path.join(folder, f"{name}.py"))]


def warn_of(folder: str) -> None:
    """Warn of files in ``folder`` that an import cannot find, since a library of that name is loaded."""
    for name in shadowed(folder):
        if name in sys.modules:
            warnings.warn(f"{os.path.join(folder, name)}.py has the name of a library that jtorch is built on: `import {name}` "
                          "gives the library. Rename the file to import it.", stacklevel=2)


def _load_past(folder: str) -> None:
    """Import the libraries that files in ``folder`` would hide."""
    hidden = [name for name in shadowed(folder) if name not in sys.modules]
    if not hidden:
        return
    before = sys.path[:]
    sys.path[:] = [p for p in before if os.path.abspath(p) != os.path.abspath(folder)]
    try:
        for name in NAMES:
            importlib.import_module(name)
    finally:
        sys.path[:] = before


def _hide_notes_of_jax() -> None:
    """Leave JAX's notes at INFO out of a program's log, unless the user has asked JAX for a level."""
    if logging.getLogger("jax").level == logging.NOTSET and "JAX_LOGGING_LEVEL" not in os.environ:
        logging.getLogger("jax").setLevel(logging.WARNING)


_hide_notes_of_jax()
if sys.path:
    _load_past(sys.path[0])
