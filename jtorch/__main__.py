"""``python -m jtorch [--seed N] script.py [args…]``: runs an unmodified PyTorch script with ``torch`` served by jtorch.

``-m module`` runs a module instead. ``--seed N`` is ``torch.manual_seed(N)`` before the script starts. Processes that the script
starts get jtorch as ``torch`` too.
"""
from __future__ import annotations

import argparse
import os
import runpy
import sys

import jtorch
from jtorch.as_torch import install, install_in_children


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
        install_in_children()
        runpy.run_module(given.script, run_name="__main__", alter_sys=True)
        return
    if not os.path.exists(given.script):
        sys.exit(f"python -m jtorch: can't open file {given.script!r}")
    sys.path[0] = os.path.dirname(os.path.abspath(given.script))
    install_in_children()
    runpy.run_path(given.script, run_name="__main__")


if __name__ == "__main__":
    main()
