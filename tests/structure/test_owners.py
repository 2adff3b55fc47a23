"""Each part of the state of tensors and storages is assigned in one file, whose functions say what an assignment means."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "jtorch"

HISTORY, STORAGE = "_backward/view_history.py", "storage.py"
OWNERS = {      # attribute -> the file
    "_node": HISTORY, "_output_nr": HISTORY, "_requires_grad": HISTORY, "_node_version": HISTORY,
    "_view": STORAGE, "_base": "dispatch/views.py",
    "value": STORAGE, "version": STORAGE, "generation": STORAGE, "laid": STORAGE, "host": STORAGE,
}

# (file, attribute): why it is assigned there too.
ALSO = {
    **{("tensor.py", name): "a new tensor begins with it" for name in (
        "_node", "_output_nr", "_requires_grad", "_node_version", "_view", "_base")},
    ("dispatch/views.py", "_view"): "a new view begins with it",
    ("dispatch/views.py", "_node_version"): "a new view begins with it",
}
OF_TENSORS = {name for name in OWNERS if name.startswith("_")}


def assigned(path: Path) -> Iterator[tuple[str, int]]:
    """(attribute, line) of the assignments in a file; objects of other classes may have a ``value`` of their own."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)) and node.attr in OWNERS:
            own = isinstance(node.value, ast.Name) and node.value.id == "self"
            if node.attr in OF_TENSORS or not own or path == PACKAGE / OWNERS[node.attr]:
                yield node.attr, node.lineno


FOUND = [(str(path.relative_to(PACKAGE)), name, line) for path in sorted(PACKAGE.rglob("*.py")) for name, line in assigned(path)]


@pytest.mark.parametrize("name", OWNERS)
def test_only_the_owner_assigns(name):
    elsewhere = [f"{file}:{line}" for file, found, line in FOUND
                 if found == name and file != OWNERS[name] and (file, name) not in ALSO]
    assert not elsewhere, f"{name} is assigned in {', '.join(elsewhere)}: call a function of {OWNERS[name]}, or make one there"


def test_no_owner_and_no_exception_is_left_over():
    found = {(file, name) for file, name, _ in FOUND}
    assert {(file, name) for name, file in OWNERS.items()} | set(ALSO) <= found
