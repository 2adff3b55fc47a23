"""``python -m jtorch [--seed N] script.py [args…]``: runs an unmodified PyTorch script with ``torch`` served by jtorch.

``-m module`` runs a module instead. ``--seed N`` is ``torch.manual_seed(N)`` before the script starts.
"""
from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import runpy
import sys
from types import ModuleType

import jtorch


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
    sys.modules["torch"] = jtorch


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m jtorch", description="Run a PyTorch script on jtorch.")
    parser.add_argument("--seed", type=int, help="torch.manual_seed before the script starts")
    parser.add_argument("-m", dest="module", action="store_true", help="run a module instead of a file")
    parser.add_argument("script", help="the script, or the module with -m")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """The command."""
    given = _arguments(sys.argv[1:] if argv is None else argv)
    install()
    if given.seed is not None:
        jtorch.manual_seed(given.seed)
    sys.argv = [given.script, *given.args]
    if given.module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(given.script, run_name="__main__", alter_sys=True)
        return
    if not os.path.exists(given.script):
        sys.exit(f"python -m jtorch: can't open file {given.script!r}")
    sys.path[0] = os.path.dirname(os.path.abspath(given.script))
    runpy.run_path(given.script, run_name="__main__")


if __name__ == "__main__":
    main()
