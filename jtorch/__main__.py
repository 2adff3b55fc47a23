"""``python -m jtorch [--seed N] script.py [args…]``: run an unmodified PyTorch script with jtorch as ``torch``.

``python -m jtorch check PATH`` lists the names of PyTorch that a project uses and jtorch lacks, without running it.
``python -m jtorch doctor`` checks the installation, and ``--version`` prints the version.

``-m module`` runs a module instead, ``-c code`` a text, and ``-`` the standard input. ``--seed N`` calls
``torch.manual_seed(N)`` before the script starts. Child processes of the script get jtorch as ``torch`` too.
"""
from __future__ import annotations

import argparse
import io
import os
import runpy
import sys
from importlib.machinery import BuiltinImporter, SourceFileLoader
from types import ModuleType
from typing import Any

import jtorch
from jtorch._base import libraries
from jtorch._import_hook import install, install_in_children
from jtorch.check import is_command
from jtorch.version import __version__, jtorch_version

EPILOG = """\
python -m jtorch train.py --epochs 3      the script's `import torch` gets jtorch
python -m jtorch -m package.module        a module
python -m jtorch -c "import torch"        a text, and with - what stands in the standard input
python -m jtorch check PATH               what a project uses of PyTorch's that is missing or differs
python -m jtorch doctor                   what is installed, which devices, and a short self-test
python -m jtorch.install                  `import torch` is jtorch in this environment (--remove)

JTORCH_ENGINE=eager|hot|auto, JTORCH_CACHE=folder|0, JTORCH_SPEEDUPS=0: see docs/engine.md"""


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m jtorch", description="Run a PyTorch script on jtorch.", epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"jtorch {jtorch_version} (PyTorch {__version__})")
    parser.add_argument("--seed", type=int, help="torch.manual_seed before the script starts")
    parser.add_argument("-m", dest="module", action="store_true", help="run a module instead of a file")
    parser.add_argument("-c", dest="code", action="store_true", help="run a text instead of a file")
    parser.add_argument("script", help="script, the module with -m, the text with -c, - for standard input, `check`, `doctor`")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    given = _arguments(sys.argv[1:] if argv is None else argv)
    # ``python -m jtorch check`` has already run check.run_if_asked, so only programs that call main() reach this branch.
    if is_command(given.script) and not given.module and not given.code:
        from jtorch.check.command import main as check
        sys.exit(check(given.args))
    if given.script == "doctor" and not given.module and not given.code and not os.path.exists("doctor"):
        from jtorch.install.doctor import main as doctor
        sys.exit(doctor())
    install()
    if given.seed is not None:
        jtorch.manual_seed(given.seed)
    sys.argv = [given.script, *given.args]
    if given.module:
        sys.path.insert(0, os.getcwd())
        install_in_children()
        runpy.run_module(given.script, run_name="__main__", alter_sys=True)
        return
    if given.code or given.script == "-":
        _run_text(given.script, given.code)
        return
    if not os.path.exists(given.script):
        sys.exit(f"python -m jtorch: can't open file {given.script!r}")
    sys.path[0] = os.path.dirname(os.path.abspath(given.script))
    libraries.warn_of(sys.path[0])
    install_in_children()
    _run(given.script)


def _run(script: str) -> None:
    """Run a script as Python does: ``__file__`` is its absolute path, and ``sys.argv[0]`` the given one."""
    if os.path.isdir(script) or script.endswith((".zip", ".pyz")):
        runpy.run_path(script, run_name="__main__")
        return
    path = os.path.abspath(script)
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec")
    _run_code(code, __file__=path, __loader__=SourceFileLoader("__main__", path))


def _run_text(text: str, is_code: bool) -> None:
    """Run a text as ``python -c`` does, or the standard input as ``python -`` does."""
    sys.path[0] = ""
    if is_code:
        sys.argv[0] = "-c"
    libraries.warn_of(os.getcwd())
    install_in_children()
    name = "<string>" if is_code else "<stdin>"
    code = compile(text if is_code else sys.stdin.buffer.read(), name, "exec")
    _run_code(code, __loader__=BuiltinImporter, __annotations__={}, **({} if is_code else {"__file__": name, "__cached__": None}))


def _run_code(code: Any, **names: Any) -> None:
    module = sys.modules["__main__"] = ModuleType("__main__")
    vars(module).update(names)
    exec(code, vars(module))


if __name__ == "__main__":
    main()
