"""Write the package's type stubs from the op records: ``python -m tools.stubs``; ``--check`` only compares.

``jtorch/_bound.pyi`` has the class ``Bound`` with all names added to ``Tensor`` at import; ``Tensor`` derives from it for a type
checker. A module with generated functions (``jtorch`` itself, ``jtorch.linalg``, …) gets a stub of its own. The stub has the
signatures of generated functions, and imports of the functions defined in source files. The modules used by the package's own
files (``jtorch._api.functions``, …) get a stub with imports of the public names.
"""
from __future__ import annotations

import ast
import difflib
import functools
import importlib
import inspect
import pkgutil
import re
import sys
import types
from pathlib import Path
from typing import Any

import jtorch
from jtorch.dtype import dtype
from jtorch.ops.registry import OPS
from tools.annotations import PREAMBLE
from tools.stub_functions import (
    BY_NAME,
    Stub,
    is_made,
    of_function,
    of_op,
    of_property,
    operator,
    result_class,
)

ROOT = Path(jtorch.__file__).parent
COMPAT = ROOT / "compat"        # Type checkers do not find its modules.
HEADER = "# Written by tools/stubs.py from the op records: change those, then run `python -m tools.stubs`.\n"
CHECKS = ('# mypy: disable-error-code="override, misc, overload-overlap, overload-cannot-match"\n'
          "# pyright: reportIncompatibleMethodOverride=false, reportOverlappingOverload=false\n")


def stubs() -> dict[Path, str]:
    """Return the text of every stub file."""
    for info in pkgutil.walk_packages(jtorch.__path__, "jtorch."):
        if not info.name.endswith("__main__"):
            importlib.import_module(info.name)
    out = {ROOT / "_bound.pyi": bound()}
    for name in sorted(made_into()):
        out[_stub_path(name)] = module_stub(name)
    return out


@functools.cache
def made_into() -> frozenset[str]:
    """Return the modules that get generated functions and can have a stub file, once all modules are imported."""
    made = [name for name, m in sorted(sys.modules.items()) if name.split(".")[0] == "jtorch" and name != "jtorch._api.indexing"
            and {n for n, v in list(vars(m).items()) if n[0] != "_" and is_made(v)} - _imported(_file_of(m))]
    return frozenset(name for name in made if _stub_path(name).parent.is_dir())


def _imported(file: str | None) -> set[str]:
    """Return the names that a module's file imports by itself."""
    found = ast.walk(ast.parse(Path(file).read_text())) if file and file.endswith(".py") else ()
    return {alias.asname or alias.name for node in found if isinstance(node, ast.ImportFrom) for alias in node.names}


def _stub_path(name: str) -> Path:
    """Return the path of a stub: beside the module's file, or at ``jtorch/linalg.py`` for a module made at import."""
    file = _file_of(sys.modules[name])
    return Path(file).with_suffix(".pyi") if file else ROOT.parent.joinpath(*name.split(".")).with_suffix(".pyi")


def _file_of(module: types.ModuleType) -> str | None:
    return getattr(module, "__file__", None)


# The package's own files find functions in these modules. The values are the public modules with the same functions.
INSIDE = {"jtorch._api.functions": "jtorch", "jtorch._api.nn_functions": "jtorch.nn.functional", "jtorch._api.overridden": None}


# ---------------------------------------------------------------- what is put on Tensor

def bound() -> str:
    """Return the stub of the base class of ``Tensor``."""
    written_by_hand = _names_in_class(ROOT / "tensor.py", "Tensor")
    lines = []
    for name, value in sorted(vars(jtorch.Tensor).items()):
        if name not in written_by_hand and name not in _OF_PYTHON and hasattr(jtorch.Tensor, name) \
                and not isinstance(value, classmethod):     # hasattr is False for names without an implementation.
            lines += _member(name, value).lines("    ")
    ours = [op for op in sorted(OPS.values(), key=lambda op: op.name) if not op.name.startswith("torchvision.")]
    classes = [line for op in ours if op.returns for line in ["", *result_class(op)]]
    return _file("from jtorch.tensor import Tensor", [*classes, "", "class Bound:", *lines])


_OF_PYTHON = {"__module__", "__dict__", "__weakref__", "__doc__", "__annotations__", "__hash__", "__firstlineno__",
              "__static_attributes__"}


def _names_in_class(path: Path, name: str) -> set[str]:
    body = next(n.body for n in ast.parse(path.read_text()).body if isinstance(n, ast.ClassDef) and n.name == name)
    found = {n.name for n in body if isinstance(n, ast.FunctionDef)}
    targets = [t for n in body if isinstance(n, ast.Assign) for t in n.targets]
    targets += [n.target for n in body if isinstance(n, ast.AnnAssign)]
    return found | {t.id for t in targets if isinstance(t, ast.Name)}


_OPERATORS = {name: op for op in OPS.values() for name in op.operators}


def _member(name: str, value: Any) -> Stub:
    if isinstance(value, property):
        return of_property(name, value)
    if name in _OPERATORS:
        return operator(name, _OPERATORS[name])
    return (of_op(name, value) if is_made(value) else of_function(name, value)).method()


# ---------------------------------------------------------------- modules

def module_stub(name: str) -> str:
    """Return the stub of a module."""
    imports, lines = [], []
    file = _file_of(sys.modules[name])
    exported = set(re.findall(r"\bimport (\w+) as \1\b", Path(file).read_text())) if file else set()
    for short, value in sorted(vars(sys.modules[name]).items()):
        if _is_hidden(name, short) or (isinstance(value, types.ModuleType) and _file_of(value) and short not in exported):
            continue
        source = _source(name, short, value)
        if source is not None:
            imports.append(source)
            if " as _aliased_" in source:
                lines.append(f"{short} = {source.rpartition(' ')[2]}")
        else:
            lines += _definition(name, short, value)
    if "from jtorch.tensor import Tensor as Tensor" not in imports:
        imports.append("from jtorch.tensor import Tensor")
    return _file("\n".join(sorted(set(imports))), lines)


def _is_hidden(module: str, short: str) -> bool:
    """Return whether the stub of a module leaves a name out."""
    if module in INSIDE:
        return short.startswith("__")
    return (short.startswith("_") and short != "__version__") or short == "annotations"


def _source(module: str, short: str, value: Any) -> str | None:
    """Return the import of ``value``, if a source file or another stub defines it."""
    if INSIDE.get(module) and short[0] != "_" and hasattr(sys.modules[INSIDE[module]], short):     # type: ignore[index]
        return f"from {INSIDE[module]} import {short} as {short}"
    if isinstance(value, types.ModuleType) and (_file_of(value) or value.__name__ in made_into()):
        return f"from {module} import {short} as {short}"
    if is_made(value) or not isinstance(value, (type, types.FunctionType)):
        return None
    home, own = str(value.__module__), value.__name__
    if home == "jtorch" and isinstance(value, type):  # Pickles need this name of a module. The methods name the file's module.
        home = next((f.__module__ for f in vars(value).values() if isinstance(f, types.FunctionType)), "")
    if home.split(".")[0] not in ("jtorch", "torch"):
        return f"from {home} import {own} as {short}" if home and short == own else None
    if home.split(".")[0] == "torch":       # The class or function has PyTorch's path, and a type checker needs jtorch's.
        home, own = next(((n, a) for a in (own, short) for n, m in sorted(sys.modules.items())
                          if n.startswith("jtorch.") and n not in (module, *INSIDE)
                          and f"{COMPAT}/" not in (_file_of(m) or "") and vars(m).get(a) is value), ("", own))
    if home in ("", module) or home in made_into() or getattr(sys.modules[home], own, None) is not value:
        return None
    return f"from {home} import {own} as {short if short == own else _alias(own)}"


def _alias(own: str) -> str:
    """Return an alias for an imported name. A type checker re-exports only ``a as a``."""
    return f"_aliased_{own}"


def _definition(module: str, short: str, value: Any) -> list[str]:
    if is_made(value):
        space = (INSIDE.get(module, module) or "jtorch").removeprefix("jtorch").removeprefix(".")
        names = [f"{space}.{short}".removeprefix("."), short, f"nn.functional.{short}", f"linalg.{short}"]
        return of_op(next(n for n in names if n in BY_NAME or n.removesuffix("_") in BY_NAME), value).lines()
    if inspect.isfunction(value):
        return of_function(short, value).lines()
    kind = "_dtype" if isinstance(value, dtype) else _plain_type(value)
    return [f"{short}: {kind}"]


def _plain_type(value: Any) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    if name in ("int", "float", "bool", "str"):
        return f"builtins.{name}"
    return {"Generator": "_Generator"}.get(name, "Any")


def _file(imports: str, lines: list[str]) -> str:
    text = "\n".join(lines)
    named = sorted(set(re.findall(r"\b\w+_result\b", text)) - set(re.findall(r"class (\w+_result)\(", text)) - {"promote_result"})
    named = [n for n in named if n in {f"{op.name.replace('.', '_')}_result" for op in OPS.values() if op.returns}]
    if named:
        imports += "\n" + "\n".join(f"from jtorch._bound import {n}" for n in named)
    return f"{HEADER}{CHECKS}{PREAMBLE.format(imports=imports)}\n{text}\n"


# ---------------------------------------------------------------- the command

def stale() -> list[str]:
    """Return the first lines of each difference between the stub files and the generated text."""
    out = []
    for path, text in stubs().items():
        old = path.read_text() if path.exists() else ""
        if old != text:
            difference = difflib.unified_diff(old.splitlines(), text.splitlines(), str(path.name), "new", n=0, lineterm="")
            out.append("\n".join(list(difference)[:12]))
    return out


def main() -> int:
    """Write the stubs, or with --check name the stale ones."""
    if "--check" in sys.argv:
        differences = stale()
        for difference in differences:
            print(difference)
        print("Stubs are stale: run `python -m tools.stubs`" if differences else "Stubs are as the op records say.")
        return bool(differences)
    for path, text in stubs().items():
        path.write_text(text)
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
