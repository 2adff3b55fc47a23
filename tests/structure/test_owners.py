"""Each attribute of the state of tensors and storages is assigned in one file only. Other files call functions of that
file.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "jtorch"

HISTORY, STORAGE, VIEWS = "_backward/view_history.py", "storage.py", "dispatch/views.py"
OWNERS = {      # Maps an attribute to the file that assigns it.
    "_node": HISTORY, "_output_nr": HISTORY, "_requires_grad": HISTORY, "_node_version": HISTORY, "_retains_grad": HISTORY,
    "written_by": HISTORY,
    "_view": STORAGE, "_storage": STORAGE, "_base": VIEWS, "_creation": VIEWS, "_view_op": VIEWS, "_through": VIEWS,
    "_counter": STORAGE, "version": STORAGE, "has_separate_version": STORAGE,
    "value": STORAGE, "generation": STORAGE, "permuted": STORAGE, "host": STORAGE, "previous": STORAGE, "order": STORAGE,
}

# Maps (file, attribute) to the reason for another assignment.
ALSO = {
    **{("tensor.py", name): "a new tensor begins with it" for name in (
        "_node", "_output_nr", "_requires_grad", "_node_version", "_view", "_base", "_storage", "_counter")},
    **{("dispatch/views.py", name): "a new view begins with it" for name in ("_view", "_node_version", "_counter")},
    **{("_aten/wrappers.py", name): "a tensor of a class with __torch_dispatch__ has its own" for name in ("_view", "_storage")},
    ("_storage/untyped.py", "_storage"): "the object of torch.UntypedStorage has one too",
    ("package/_digraph.py", "_node"): "PyTorch's name for the nodes of a graph of modules",
}
OF_TENSORS = {name for name in OWNERS if name.startswith("_")}
SLOTS = {name.removeprefix("_") for name in OWNERS}

# Maps (file, line) to the reason for a computed attribute name.
BY_NAME = {
    ("utils/_swap.py", "setattr(t1, name, theirs)"): "all of two tensors is exchanged",
    ("utils/_swap.py", "setattr(t2, name, ours)"): "all of two tensors is exchanged",
    ("_api/torch_function.py", "setattr(made, name, getattr(t, name))"): "another object for all of a tensor",
    ("tensor.py", "setattr(t, name, copy.deepcopy(getattr(self, name), memo))"): "a slot of a user's class",
    ("serialization/rebuild.py", "setattr(t, key, value)"): "what the user had set; names of tensors are refused",
}
ON_TENSORS = ("storage.py", "tensor.py", "_storage/untyped.py", "_backward/", "_nodes/", "dispatch/", "autograd/", "func/", "_api/",
              "serialization/rebuild.py", "utils/_swap.py")


def assigned(path: Path) -> Iterator[tuple[str, int]]:
    """Yield (attribute, line) of a file's assignments to attributes in ``OWNERS``.

    ``self.value = …`` outside of the owner is left out, because other classes may have a ``value``.
    """
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)) and node.attr in OWNERS:
            own = isinstance(node.value, ast.Name) and node.value.id == "self"
            if node.attr in OF_TENSORS or not own or path == PACKAGE / OWNERS[node.attr]:
                yield node.attr, node.lineno
        elif isinstance(node, ast.Call) and _name_set(node) in OWNERS:
            yield _name_set(node), node.lineno


def _name_set(node: ast.Call) -> str:
    """Return ``x`` of ``setattr(t, "x", …)`` and similar calls; "" for other calls or a computed name."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called in ("setattr", "delattr", "__setattr__", "__delattr__"):
        given = node.args[1 if len(node.args) > 2 or called.endswith("delattr") else 0:]
        return str(given[0].value) if given and isinstance(given[0], ast.Constant) else ""
    if called in ("__set__", "__delete__") and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Attribute):
        return node.func.value.attr
    return ""


FOUND = [(str(path.relative_to(PACKAGE)), name, line) for path in sorted(PACKAGE.rglob("*.py")) for name, line in assigned(path)]


@pytest.mark.parametrize("name", OWNERS)
def test_only_the_owner_assigns(name):
    elsewhere = [f"{file}:{line}" for file, found, line in FOUND
                 if found == name and file != OWNERS[name] and (file, name) not in ALSO]
    assert not elsewhere, f"{name} is assigned in {', '.join(elsewhere)}: call a function of {OWNERS[name]}, or make one there"


def test_no_owner_and_no_exception_is_left_over():
    found = {(file, name) for file, name, _ in FOUND}
    assert {(file, name) for name, file in OWNERS.items()} | set(ALSO) <= found


def test_tensors_are_not_written_to_by_computed_names():
    """``setattr(t, name, …)`` and ``t.__dict__[…]`` would bypass the check above."""
    found = set()
    for path in (p for p in sorted(PACKAGE.rglob("*.py")) if str(p.relative_to(PACKAGE)).startswith(ON_TENSORS)):
        for node in ast.walk(ast.parse(path.read_text())):
            computed = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr") \
                and not isinstance(node.args[1], ast.Constant) and ast.unparse(node.args[0]) not in ("space", "cls", "owner")
            entry = isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)) \
                and isinstance(node.value, ast.Attribute) and node.value.attr == "__dict__" and _names_state(node.slice)
            if computed or entry:
                found.add((str(path.relative_to(PACKAGE)), ast.unparse(node)))
    assert found == set(BY_NAME)


def _names_state(key: ast.AST) -> bool:
    return not isinstance(key, ast.Constant) or key.value in OWNERS


def test_one_file_assigns_in_c():
    """The extension sees slots as fields of objects. tensors.c assigns all fields of tensors and storages."""
    setting = re.compile(r"(?:\b(?:set|put|add_to)\(\w+, (?:Tensor|Storage|View)_\.(\w+)|SLOT\(\w+, (?:Tensor|Storage|View)_\.(\w+)\) = )")
    found = {(path.name, a or b) for path in (PACKAGE / "speedups").glob("*.c") for a, b in setting.findall(path.read_text())}
    assert {"node", "requires_grad", "view", "value", "version", "generation"} <= {name for _, name in found}
    assert {file for file, name in found if name in SLOTS} == {"tensors.c"}


def test_state_is_reached_by_no_other_way_in_c():
    """C sets no state by name, as Python could."""
    for path in (PACKAGE / "speedups").glob("*.c"):
        text = path.read_text()
        for name in OWNERS:
            assert not re.search(rf'PyObject_SetAttr(String)?\([^;]*"{name}"', text), (path.name, name)
