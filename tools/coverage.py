"""Write docs/coverage.md, the table of PyTorch's public names in jtorch. ``python -m tools.coverage``; ``--check``
compares.

The names come from the installed PyTorch, and the details from jtorch's op records.
"""
from __future__ import annotations

import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jtorch.ops.registry import OPS, Op
from tools.dtypes import taken
from tools.pages import write_or_check

PAGE = Path(__file__).parent.parent / "docs" / "coverage.md"
YES, NO, NONE = "✓", "✗", "–"
# Maps namespaces of functions to the prefix of their op records. LISTS names namespaces of classes and plain functions.
TABLES = {"torch": "", "torch.Tensor": "", "torch.linalg": "linalg.", "torch.fft": "fft.", "torch.special": "special.",
          "torch.nn.functional": "nn.functional."}
LISTS = ("torch.nn", "torch.nn.init", "torch.nn.utils", "torch.optim", "torch.optim.lr_scheduler", "torch.utils.data",
         "torch.autograd", "torch.func")
RECORDS: dict[str, Op] = {full: op for op in OPS.values() for full in (op.name, *op.aliases)}

INTRO = """\
# What of PyTorch is here

`python -m tools.coverage` writes this page from the documented public names of PyTorch {version} and from jtorch's op
records. A test fails when the page is out of date. A missing name raises `AttributeError`, and a missing part of a function
raises `NotImplementedError`.

{summary}

In the tables, {yes} means present, {no} means missing, and {none} means missing in PyTorch too. A blank cell means a
function without an op record. *dtypes* are the kinds in PyTorch's test data: b bool, i integers, h floats of 16 bits, f
other floats, c complex numbers. A kind ~~struck out~~ works in PyTorch only. *gradient* means gradients of any order.
*in-place* is the form with an underscore (`exp_`).
"""


@dataclass(frozen=True)
class Row:
    """A public name of PyTorch, and the cells of its row."""

    name: str
    covered: bool
    dtypes: str = ""
    gradient: str = ""
    inplace: str = ""
    out: str = ""

    def __str__(self):
        return f"| {self.name} | {YES if self.covered else NO} | {self.dtypes} | {self.gradient} | {self.inplace} | {self.out} |"


def found(path: str) -> Any:
    """Return the module or object at a path such as ``torch.nn.functional``; None if there is none."""
    try:
        return importlib.import_module(path)
    except ImportError:
        parent, _, last = path.rpartition(".")
        return getattr(found(parent), last, None) if parent else None


def ours(path: str) -> Any:
    """Return jtorch's counterpart, None if there is none."""
    at: Any = importlib.import_module("jtorch")
    for part in path.split(".")[1:]:
        at = getattr(at, part, None)
    return at


def public(space: Any) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of the documented public names of a module or class, without modules."""
    for name in sorted(n for n in dir(space) if n[0] != "_"):
        value = inspect.getattr_static(space, name) if inspect.isclass(space) else getattr(space, name)
        if is_documented(value) and not inspect.ismodule(value):
            yield name, value


# Names of these modules are left out, since a namespace only imports them.
FOREIGN = ("torch.overrides", "torch._jit_internal", "torch._C", "torch.types")


def is_documented(value: Any) -> bool:
    """Return whether ``value`` is PyTorch's and has more documentation than the line of its binding."""
    text = getattr(value, "__doc__", None) or ""
    if isinstance(value, property) or inspect.isgetsetdescriptor(value):
        return bool(text)
    home = getattr(value, "__module__", None) or "torch"
    if not callable(value) or home in FOREIGN or home.split(".")[0] != "torch":
        return inspect.ismethoddescriptor(value) and bool(text)
    return bool(text) and not (inspect.isbuiltin(value) and " -> " in text and len(text.strip().splitlines()) == 1)


def functions(path: str) -> list[tuple[str, Any]]:
    """Return the names of a table: functions and methods, and in-place forms without another form."""
    named = [(n, v) for n, v in public(found(path)) if not inspect.isclass(v)]
    plain = {n for n, _ in named}
    return [(n, v) for n, v in named if not (n.endswith("_") and n[:-1] in plain)]


def row(path: str, prefix: str, name: str, theirs: Any, known: Mapping[str, str]) -> Row:
    """Return the row of one function. See ``page``."""
    space = ours(path)
    if not is_built(getattr(space, name, None)):
        return Row(f"`{name}`", covered=False)
    op = RECORDS.get(prefix + name)
    cell = known.get(f"{path}.{name}")
    return Row(f"`{name}`", True, dtypes(prefix + name) if cell is None else cell, gradient(op), inplace(space, path, name),
               out(op, path, theirs))


def written() -> dict[str, str]:
    """Return the column *dtypes* of the existing page, by name (``torch.linalg.inv``)."""
    sections = re.findall(r"^## ([\w.]+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return {f"{path}.{name}": cell for path, body in sections
            for name, cell in re.findall(rf"^\| `(\w+)` \| {YES} \| (.*?) \|", body, re.MULTILINE)}


def dtypes(name: str) -> str:
    """Return the kinds of dtypes an op accepts. Kinds accepted by PyTorch only are struck out."""
    ours, theirs = taken(name)
    return ours + (f"~~{theirs}~~" if theirs else "")


def gradient(op: Op | None) -> str:
    """Return the cell about gradients."""
    if op is None:
        return ""
    return YES if op.differentiable and not op.dynamic and any(p.kind.startswith("tensor") for p in op.params) else NONE


def is_built(value: Any) -> bool:
    """Return whether a function does more than raise NotImplementedError."""
    if value is None:
        return False
    # ``unwrap`` finds the original: some functions check for ``__torch_function__`` first.
    code = getattr(inspect.unwrap(value), "__code__", None)
    return code is None or "NotImplementedError" not in code.co_names or len(code.co_code) > 60


def inplace(space: Any, path: str, name: str) -> str:
    """Return the cell about the in-place form. For a function of torch, the form is a method."""
    torch = importlib.import_module("torch")
    owner, mine = (torch.Tensor, ours("torch.Tensor")) if path in ("torch", "torch.Tensor") else (found(path), space)
    if name.endswith("_") or not hasattr(owner, f"{name}_"):
        return NONE
    return YES if hasattr(mine, f"{name}_") else NO


def out(op: Op | None, path: str, theirs: Any) -> str:
    """Return the cell about ``out=``."""
    if path == "torch.Tensor" or not re.search(r"[*,(]\s*out\s*(=\s*None|:)", theirs.__doc__):
        return NONE
    if op is None:
        return ""
    return YES if op.out.form and not op.writes else NO


def table(path: str, rows: list[Row]) -> str:
    """Return the table of one namespace."""
    head = "| name | here | dtypes | gradient | in-place | out= |\n|---|---|---|---|---|---|"
    return f"## {path}\n\n{head}\n" + "\n".join(map(str, rows))


def listing(path: str, rows: list[Row]) -> str:
    """Return the names of a namespace without details: present names, then missing names."""
    parts = [f"## {path}"]
    for title, covered in (("Here", True), ("Not here", False)):
        names = ", ".join(r.name for r in rows if r.covered is covered)
        if names:
            parts.append(f"{title}: {names}.")
    return "\n\n".join(parts)


def exported(path: str) -> list[Row]:
    """Return a row for each public class and function of a namespace in LISTS."""
    space, mine = found(path), ours(path)
    names = [n for n, v in public(space) if callable(v) and not n.startswith("_")]
    listed = getattr(space, "__all__", None)
    return [Row(f"`{n}`", is_built(getattr(mine, n, None))) for n in names if listed is None or n in listed]


def page(known: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the text of docs/coverage.md. ``known`` has cells of the column *dtypes* to reuse."""
    torch = importlib.import_module("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = {path: [row(path, prefix, n, v, known) for n, v in functions(path)] for path, prefix in TABLES.items()}
        lists = {path: exported(path) for path in LISTS}
    counts = [f"| [{p}](#{p.lower().replace('.', '')}) | {sum(r.covered for r in rows)} | {len(rows)} |"
              for p, rows in (tables | lists).items()]
    every = [r for rows in tables.values() for r in rows]
    total = f"| all functions and methods in the tables | {sum(r.covered for r in every)} | {len(every)} |"
    summary = "| names of | here | in PyTorch |\n|---|---|---|\n" + "\n".join([*counts, total])
    intro = INTRO.format(version=torch.__version__.split("+")[0], summary=summary, yes=YES, no=NO, none=NONE)
    sections = [*(table(p, r) for p, r in tables.items()), *(listing(p, r) for p, r in lists.items())]
    return "\n".join([intro, *(s + "\n" for s in sections)])


def main(write: Callable[[str], Any] = print) -> int:
    """Write the page, or with --check report a stale page."""
    text = page()
    counts = "\n".join(line for line in text.splitlines() if line.startswith(("| [", "| all")))
    return write_or_check(PAGE, text, "tools.coverage", counts, write)


if __name__ == "__main__":
    sys.exit(main())
