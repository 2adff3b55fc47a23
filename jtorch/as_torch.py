"""``import torch`` that gives jtorch: in this process, and in those that it starts."""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import sys
from types import ModuleType

PACKAGE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(PACKAGE, "_as_torch")      # in it is a package called torch, which calls ``install``


class TorchFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves ``torch`` and every ``torch.*`` from the jtorch module of the same name."""

    def find_spec(self, fullname, path=None, target=None):
        """A spec for torch's names; None for all others."""
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        """The jtorch module itself, so that ``torch.nn is jtorch.nn``."""
        return _jtorch_module(spec.name)

    def exec_module(self, module):
        """Nothing: the module is loaded already."""


def _jtorch_module(name: str) -> ModuleType:
    own = "jtorch" + name[len("torch"):]
    try:
        module = sys.modules.get(own) or importlib.import_module(own)
    except ModuleNotFoundError as error:
        if error.name is None or not own.startswith(error.name):
            raise
        raise ModuleNotFoundError(f"No module named {name!r}: jtorch does not have it", name=name) from None
    return module


def install() -> None:
    """Makes ``import torch`` in this process give jtorch."""
    if not any(isinstance(f, TorchFinder) for f in sys.meta_path):
        sys.meta_path.insert(0, TorchFinder())
    for name in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
        del sys.modules[name]
    sys.modules["torch"] = sys.modules["jtorch"]


def install_in_children() -> None:
    """The same for each Python that is started from here: by its environment, or by multiprocessing, which hands on sys.path.

    The first of sys.path, which is the script's own folder, stays the first.
    """
    found = importlib.machinery.PathFinder.find_spec("jtorch", sys.path[1:])
    here = found is not None and found.origin is not None and os.path.dirname(os.path.abspath(found.origin)) == PACKAGE
    folders = [FOLDER] if here else [FOLDER, os.path.dirname(PACKAGE)]     # where jtorch lay in the working directory
    given = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p not in folders]
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *given])
    sys.path[1:] = [*folders, *[p for p in sys.path[1:] if p not in folders]]
