"""The record of an op has all facts: code that runs calls reads these facts and not the op's name."""
from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jtorch._nodes import saved_names
from jtorch._nodes.vjp import camel_case
from jtorch.ops import taxonomy
from jtorch.ops.facts import GROUPS
from jtorch.ops.registry import OPS, Op

PACKAGE = Path(__file__).resolve().parents[2] / "jtorch"
RUNNING = [path for place in ("dispatch", "_backward", "_nodes", "amp", "engine") for path in sorted((PACKAGE / place).rglob("*.py"))
           if "host" not in path.parts] + [PACKAGE / name for name in ("tape.py", "storage.py", "tensor.py", "_api/generate.py")]
NODE = re.compile(r"\w+Backward\d")

# Maps (file, name) to the reason why the file may compare an op's or a node's name with it.
ASKED = {
    ("saved_names.py", "mul"): "PyTorch's nodes of products of other ops have other attributes",
    ("saved_names.py", "MulBackward0"): "as above",
}
OF_OTHERS = {"engine/batched.py": "the ranks that PyTorch's batching rules demand", "engine/cost.py": "names of JAX's primitives",
             "_api/generate.py": "names of Python's operators"}


def names_asked_for(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield (name of an op or a node, line) of comparisons of a name with a constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(isinstance(part, ast.Attribute) and part.attr in ("name", "__name__") for side in sides for part in ast.walk(side)):
                for part in (p for side in sides for p in ast.walk(side)):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str) and is_name(part.value):
                        yield part.value, part.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("startswith", "endswith"):
            for part in (p for a in node.args for p in ast.walk(a)):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and any(f"{part.value}Backward{i}" in NODES for i in "012"):
                    yield part.value, node.lineno


NODES = {f"{camel_case(name)}Backward0" for name in OPS}


def is_name(text: str) -> bool:
    return text in OPS or NODE.fullmatch(text) is not None


@pytest.mark.parametrize("path", RUNNING, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_op_is_asked_for_by_name(path):
    found = [f"line {line}: {name!r}" for name, line in names_asked_for(ast.parse(path.read_text())) if (path.name, name) not in ASKED]
    assert not found, f"{path.relative_to(PACKAGE)} asks for the name of an op, which is a fact for its record: {', '.join(found)}"


@pytest.mark.parametrize("path", RUNNING, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_table_of_ops_is_kept_elsewhere(path):
    if str(path.relative_to(PACKAGE)) in OF_OTHERS:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        keys = node.keys if isinstance(node, ast.Dict) else node.elts if isinstance(node, (ast.Set, ast.List, ast.Tuple)) else []
        names = [k.value for k in keys if isinstance(k, ast.Constant) and isinstance(k.value, str) and k.value in OPS]
        assert len(names) < 3, f"{path.relative_to(PACKAGE)}:{node.lineno} says something of {names}: say it in their records"


def test_no_exception_is_left_over():
    found = {(path.name, name) for path in RUNNING for name, _ in names_asked_for(ast.parse(path.read_text()))}
    assert set(ASKED) <= found


def test_every_fact_is_of_use():
    """Some op sets each fact, and some code reads it."""
    sources = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    tools = "\n".join(path.read_text() for place in ("tools", "tests/ops") for path in (PACKAGE.parent / place).rglob("*.py"))
    for group, cls in GROUPS.items():
        for fact in dataclasses.fields(cls):
            if fact.init:
                given = {id(value) for op in OPS.values() if (value := getattr(getattr(op, group), fact.name, None)) not in (None, False)}
                assert given, f"no op gives {group}.{fact.name}"
            assert re.search(rf"\.{fact.name}\b", sources), f"nobody asks for {group}.{fact.name}"
    for fact in dataclasses.fields(Op):
        assert re.search(rf"\bop\.{fact.name}\b|self\.{fact.name}\b", sources + tools), f"nobody asks for {fact.name}"


def test_lists_of_pytorchs_name_ops_and_are_read():
    assert [t.name for t in taxonomy.ALL] == ["autocast"]
    for listed in taxonomy.ALL:
        assert listed.entries and not listed.left
        assert set(listed.entries) <= set(OPS)


def test_a_list_that_names_no_op_is_an_error(monkeypatch):
    monkeypatch.setattr(taxonomy, "ALL", [])
    wrong = taxonomy.Taxonomy("example", {"add": 1, "ad": 2})
    assert wrong.take("add") == 1 and wrong.take("sub") is None
    with pytest.raises(RuntimeError, match=r"'example' names what is no op: \['ad'\]"):
        taxonomy.check_all_read()


def test_names_of_saved_attributes_are_of_nodes_and_parameters_that_exist():
    sources = "\n".join(path.read_text() for path in (PACKAGE / "ops").rglob("*.py"))
    params = {p.name for op in OPS.values() for p in op.params}
    for name, listed in saved_names._TABLE.items():
        stem = name[:-1]
        written = stem in sources or f'"{stem.removesuffix("Backward")}"' in sources
        assert written or f"{stem}0" in NODES, f"no op makes a {name}"
        for word in listed.split():
            attribute, _, source = word.partition("=")
            source = (source or attribute).rstrip("*")
            computed = source in ("self", "result", "indices") or source.startswith("self_sym")
            assert computed or source in params, f"{name}: no op has a parameter {source}"
