"""The import hook that makes ``import torch`` give jtorch, in this process and in its child processes."""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from jtorch._base import not_built
from jtorch._import_hook import paths

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(_HERE)
FOLDER = os.path.join(_HERE, "environment")      # This folder contains a package called torch, which calls ``install``.
INSTALLER = "jtorch"        # If a package called torch is ours, the file INSTALLER in its metadata has this content.


class TorchFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds ``torch`` and every ``torch.*``: jtorch's module of the same name, or a module made of jtorch's names."""

    def find_spec(self, fullname, path=None, target=None):
        """Return a spec for torch's names; None for all others."""
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        own = _own_spec(fullname)
        # True if the tables of paths have modules below this name. jtorch may have no files for them.
        has_more = _paths is not None and fullname.partition(".")[2] in _paths.below
        is_package = own is None or own.submodule_search_locations is not None or has_more
        return importlib.machinery.ModuleSpec(fullname, self, is_package=is_package)

    def create_module(self, spec):
        """Return the jtorch module itself, so that ``torch.nn is jtorch.nn``, or a new module if jtorch lacks it."""
        return _jtorch_module(spec.name)

    def exec_module(self, module):
        """Do nothing: the module is loaded already."""

    def get_code(self, fullname):
        """Return the code of a module that Python runs with ``-m``, such as ``python -m torch.distributed.run``."""
        found = _own_spec(fullname)
        return found.loader.get_code(found.name) if found is not None and hasattr(found.loader, "get_code") else None


def _own_spec(name: str) -> importlib.machinery.ModuleSpec | None:
    """Return the spec of the jtorch module for a name of torch's; None if it has no file or does not exist."""
    try:
        return importlib.util.find_spec(_own_name(name))
    except (ModuleNotFoundError, ValueError):
        return None


_paths: paths.Paths | None = None


def _own_name(name: str) -> str:
    """Return jtorch's name for torch's: ``torch.nn`` becomes ``jtorch.nn``; other names are unchanged."""
    return "j" + name if name.split(".")[0] == "torch" else name


def _jtorch_module(name: str) -> ModuleType:
    if name == "torch.ops":         # The package jtorch.ops holds op records and is not torch.ops.
        return sys.modules["jtorch"].ops
    own = _own_name(name)
    try:
        module = sys.modules.get(own) or importlib.import_module(own)
    except ModuleNotFoundError as error:
        made = _paths.make(name[len("torch."):]) if _paths is not None else None
        if made is None:
            made = not_built.part_of(own)
        if made is not None:
            return made
        if error.name is None or not own.startswith(_own_name(error.name)):
            raise
        raise ModuleNotFoundError(f"No module named {name!r}: jtorch does not have it", name=name) from None
    return module


def install() -> None:
    """Make ``import torch`` in this process give jtorch."""
    if not any(isinstance(f, TorchFinder) for f in sys.meta_path):
        sys.meta_path.insert(0, TorchFinder())
    for name in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
        del sys.modules[name]
    sys.modules["torch"] = sys.modules["jtorch"]
    # torch.dispatch, torch.speedups and torch.tape are no attributes of torch. With these entries ``import torch.tape`` works
    # and sets no attribute.
    sys.modules.update({f"torch.{part}": sys.modules[f"jtorch.{part}"] for part in ("dispatch", "speedups", "tape")})
    global _paths
    _paths = paths.install()


def serves_processes() -> bool:
    """Return whether ``import torch`` gives jtorch in child processes."""
    if os.environ.get("PYTHONPATH", "").startswith(FOLDER):
        return True
    from importlib.metadata import distributions  # The import is rarely needed.
    return is_ours(next(iter(distributions(name="torch")), None))


def is_ours(found: Distribution | None) -> bool:
    """Return whether a distribution called torch belongs to this package."""
    return found is not None and (found.read_text("INSTALLER") or "").strip() == INSTALLER


def install_in_children() -> None:
    """Make ``import torch`` give jtorch in child processes, by PYTHONPATH and by sys.path, which multiprocessing passes on.

    The first entry of sys.path, which is the script's folder, stays the first.
    """
    found = importlib.machinery.PathFinder.find_spec("jtorch", sys.path[1:])
    here = found is not None and found.origin is not None and os.path.dirname(os.path.abspath(found.origin)) == PACKAGE
    # If jtorch was imported from the first entry of sys.path, such as the working directory, add the folder of jtorch.
    folders = [FOLDER] if here else [FOLDER, os.path.dirname(PACKAGE)]
    given = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p not in folders]
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *given])
    sys.path[1:] = [*folders, *[p for p in sys.path[1:] if p not in folders]]
