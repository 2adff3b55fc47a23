"""Layers get functions of lower layers through one file, ``_base/late_bindings.py``; no file assigns into another file
otherwise.
"""
from __future__ import annotations

import ast
import importlib
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import jtorch
from jtorch._base import late_bindings

PACKAGE = Path(__file__).resolve().parents[2] / "jtorch"
FILES = sorted(p for p in PACKAGE.rglob("*.py") if p.parts[-2:] != ("_import_hook", "__init__.py") and p.name != "__main__.py")
SLOTS = set(late_bindings.FILLED_BY)

# Maps (file, assigned name) to the reason why it is no late binding.
ALSO = {
    ("_api/generate.py", "Tensor.__hash__"): "the operators that ops declare would unset it",
}


def imported(tree: ast.AST) -> dict[str, str]:
    """Return the meaning of names in a file: ``module`` or ``module.name``."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "jtorch":
            found.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
        elif isinstance(node, ast.Import):
            found.update({a.asname: a.name for a in node.names if a.asname and a.name.split(".")[0] == "jtorch"})
    return found


def is_namespace(dotted: str) -> bool:
    """Return whether a name is a module or a class, not an object with a state."""
    try:
        thing = importlib.import_module(dotted)
    except ImportError:
        module, _, name = dotted.rpartition(".")
        thing = getattr(importlib.import_module(module), name, None)
    return isinstance(thing, (types.ModuleType, type))


def injections(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield (module or class, attribute, line) of a file's assignments to imported objects."""
    tree = ast.parse(path.read_text())
    names = imported(tree)
    for node in ast.walk(tree):
        target = node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "extend", "update"):
            target = node.func.value        # A list of late_bindings is filled in this way.
            if not (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "late_bindings"):
                continue
        elif not (isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del))):
            continue
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and is_imported(target.value.id, names):
            yield target.value.id, target.attr, target.lineno


def is_imported(name: str, names: dict[str, str]) -> bool:
    return name in names and is_namespace(names[name])


FOUND = [(str(path.relative_to(PACKAGE)), owner, name, line) for path in FILES for owner, name, line in injections(path)]


def test_nothing_is_put_into_another_file_but_by_late_bindings():
    wrong = [f"{file}:{line} sets {owner}.{name}" for file, owner, name, line in FOUND
             if owner != "late_bindings" and (file, f"{owner}.{name}") not in ALSO]
    assert not wrong, f"import what is needed, or declare it in _base/late_bindings.py: {', '.join(wrong)}"


def test_no_exception_is_left_over():
    assert set(ALSO) <= {(file, f"{owner}.{name}") for file, owner, name, _ in FOUND}


def test_each_slot_is_filled_by_the_file_that_it_names():
    filled = {(name, file) for file, owner, name, _ in FOUND if owner == "late_bindings"}
    assert filled == set(late_bindings.FILLED_BY.items())


def test_late_bindings_has_nothing_else():
    tree = ast.parse((PACKAGE / "_base/late_bindings.py").read_text())
    declared = {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    assert declared == SLOTS


@pytest.mark.parametrize("name", sorted(SLOTS))
def test_slots_are_filled_once_the_package_is_imported(name):
    assert jtorch.__version__
    assert hasattr(late_bindings, name)


def test_slots_are_used_from_below():
    """A slot without a use from above could be an import."""
    for name, filler in late_bindings.FILLED_BY.items():
        users = [p for p in FILES if str(p.relative_to(PACKAGE)) != filler and f"late_bindings.{name}" in p.read_text()]
        assert users, name
