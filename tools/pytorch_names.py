"""Record PyTorch's names: ``python -m tools.pytorch_names``, with PyTorch installed.

The command writes two files. ``jtorch/check/pytorch_names.json.gz`` has the names of each module, for ``python -m jtorch check``.
``tools/pytorch_members.json.gz`` has members of public classes and parameters of public functions, for ``tools.lacking``.
"""
from __future__ import annotations

import ast
import contextlib
import gzip
import importlib
import importlib.util
import inspect
import io
import json
import os
import pkgutil
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
NAMES = ROOT / "jtorch" / "check" / "pytorch_names.json.gz"
MEMBERS = ROOT / "tools" / "pytorch_members.json.gz"
STUBS = {"torch": ("_C/_VariableFunctions.pyi", None), "torch.Tensor": ("_C/__init__.pyi", "TensorBase"),
         "torch.nn.functional": ("nn/functional.pyi", None)}


def is_public(path: str) -> bool:
    """Return whether no part of a dotted path begins with an underscore."""
    return not any(part.startswith("_") for part in path.split("."))


def modules() -> dict[str, ModuleType | None]:
    """Return PyTorch's modules by path; None for modules that need an absent package or platform."""
    import torch
    found: dict[str, ModuleType | None] = {"torch": torch}
    for info in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        if not info.name.endswith("__main__"):
            found[info.name] = _imported(info.name)
    compiled = {n: m for n, m in sys.modules.items() if n.startswith("torch.") and isinstance(m, ModuleType)}
    return {**compiled, **found}


def _imported(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except BaseException:  # noqa: BLE001 (modules of any kind, which may also exit)
        return None


def written(name: str) -> set[str]:
    """Return the names that a module's source binds at its top, even if importing the module fails on this platform."""
    try:
        origin = str(getattr(importlib.util.find_spec(name), "origin", ""))
        tree = ast.parse(Path(origin).read_text()) if origin.endswith(".py") else ast.Module([], [])
    except Exception:  # noqa: BLE001 (sources of any kind)
        return set()
    return set(_bound(tree.body))


def _bound(body: list[Any]) -> list[str]:
    found: list[str] = []
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found += [(a.asname or a.name.partition(".")[0]) for a in node.names]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.append(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [t.id for t in targets if isinstance(t, ast.Name)]
        for part in ("body", "orelse", "handlers", "finalbody"):
            if isinstance(node, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
                found += _bound(getattr(node, part, []))
    return found


def _is_foreign(thing: Any) -> bool:
    return isinstance(thing, ModuleType) and thing.__name__.split(".")[0] != "torch"


def names_of(path: str, module: ModuleType | None) -> list[str]:
    """Return the names of a module, without those with two underscores and other libraries' modules."""
    kinds = type(module).__mro__ if module is not None else ()        # settings are properties of a module's class
    listed = {n for kind in kinds if kind not in (ModuleType, object) for n in vars(kind)}
    listed |= set(dir(module)) if module is not None else set()
    foreign = {n for n in listed if _is_foreign(getattr(module, n, None))}
    extra = written(path) - foreign if module is None or is_public(path) else set()
    return sorted(n for n in (listed - foreign) | extra if not n.startswith("__") and n != "*")


def operators() -> dict[str, str]:
    """Return the operators of ``torch.ops``, by namespace."""
    import torch
    found: dict[str, set[str]] = {}
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        found.setdefault(f"torch.ops.{space}", set()).add(name)
    return {space: " ".join(sorted(names)) for space, names in sorted(found.items())}


def aliases(path: str, module: ModuleType | None, known: set[str]) -> dict[str, str]:
    """Return the names that stand for a module of another path: ``torch.nn.modules.linear.F``."""
    things = vars(module) if module is not None else {}
    return {f"{path}.{n}": m.__name__ for n, m in sorted(things.items())
            if isinstance(m, ModuleType) and m.__name__ in known and m.__name__ != f"{path}.{n}" and not n.startswith("__")}


def returning_tensors() -> dict[str, str]:
    """Return, by namespace, the functions whose overloads all return one tensor, as PyTorch's stubs say."""
    import torch
    found = {}
    for space, (file, owner) in STUBS.items():
        body: list[Any] = ast.parse((Path(torch.__file__).parent / file).read_text()).body
        if owner is not None:
            body = next(n.body for n in body if isinstance(n, ast.ClassDef) and n.name == owner)
        kinds: dict[str, set[str]] = {}
        for node in body:
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                kinds.setdefault(node.name, set()).add(ast.unparse(node.returns))
        found[space] = " ".join(sorted(n for n, k in kinds.items() if k == {"Tensor"} and not n.startswith("__")))
    return found


def _parameters(thing: Any) -> str:
    try:
        listed = inspect.signature(thing).parameters.values()
    except (ValueError, TypeError, NameError):
        return ""
    named = (p for p in listed if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
    return " ".join(p.name for p in named if p.name not in ("self", "cls"))


def _is_theirs(thing: Any) -> bool:
    return callable(thing) and str(getattr(thing, "__module__", None) or "torch").split(".")[0] == "torch"


def members(found: dict[str, ModuleType | None]) -> dict[str, dict[str, str]]:
    """Return the members of public classes, and the parameters of what is public and can be called."""
    kept: dict[str, dict[str, str]] = {"members": {}, "parameters": {}}
    for path, module in sorted(found.items()):
        for name in dir(module) if module is not None and is_public(path) else ():
            thing = getattr(module, name, None)
            if name.startswith("_") or not _is_theirs(thing):
                continue
            if isinstance(thing, type):
                kept["members"][f"{path}.{name}"] = " ".join(n for n in dir(thing) if not n.startswith("__"))
            kept["parameters"][f"{path}.{name}"] = _parameters(thing)
    kept["parameters"] = {path: text for path, text in kept["parameters"].items() if text}
    return kept


def write(file: Path, content: dict[str, Any]) -> None:
    """Write a gzipped JSON file that is the same each time."""
    file.write_bytes(gzip.compress(json.dumps(content, separators=(",", ":")).encode(), mtime=0))


def main() -> None:
    """Write both files."""
    warnings.simplefilter("ignore")
    import torch
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        found = modules()
        listed = {path: " ".join(names_of(path, module)) for path, module in sorted(found.items())}
        renamed = {n: to for path, module in sorted(found.items()) for n, to in aliases(path, module, set(found)).items()}
        listed = {**listed, **operators()}
        described = members(found)
    write(NAMES, {"version": torch.__version__.partition("+")[0], "modules": listed, "aliases": renamed,
                  "tensors": returning_tensors()})
    write(MEMBERS, described)
    sys.stdout.write(f"{len(listed)} modules, {sum(len(n.split()) for n in listed.values())} names\n")
    sys.stdout.flush()
    os._exit(0)         # some of PyTorch's modules hang or crash when the interpreter ends


if __name__ == "__main__":
    main()
