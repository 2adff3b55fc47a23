"""Find the places of a source file that can be mutated, draw some, and write a mutant."""
from __future__ import annotations

import ast
import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KINDS = ("comparison", "constant", "statement")
TURNED = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
          ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: (r"is\s+not", "is"), ast.In: ("in", "not in"),
          ast.NotIn: (r"not\s+in", "in")}
DROPPED = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Delete, ast.Raise, ast.Continue, ast.Break)
NAMES_OF_PYTHON = {"__all__", "__slots__"}


@dataclass(frozen=True)
class Mutant:
    """One change: the characters from ``start`` to ``end`` (offsets in bytes) of a file become ``new``."""

    path: str           # This is relative to the root of the project.
    kind: str           # This is one of KINDS.
    line: int
    start: int
    end: int
    old: str
    new: str

    def write(self, root: Path) -> None:
        """Write the mutant into the tree at ``root``."""
        file = root / self.path
        file.write_bytes(self.applied(file.read_bytes()))

    def applied(self, source: bytes) -> bytes:
        """Return the source with the change."""
        assert source[self.start:self.end].decode() == self.old, f"{self.path} has changed since the mutants were drawn"
        return source[:self.start] + self.new.encode() + source[self.end:]

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.path}:{self.line}: {old if len(old) < 60 else old[:57] + '...'} -> {new}"


def draw(root: Path, areas: list[str], count: int, seed: int) -> list[Mutant]:
    """Draw ``count`` mutants, equally many of each area (a file or folder below ``root``) and of each kind."""
    pick, made = random.Random(seed), []
    for number, area in enumerate(areas):
        files = sorted((root / area).rglob("*.py")) if (root / area).is_dir() else [root / area]
        found = [m for file in files for m in sites(root, file)]
        pick.shuffle(found)
        share = count * (number + 1) // len(areas) - count * number // len(areas)
        for index, kind in enumerate(KINDS):
            of_kind = share * (index + 1) // len(KINDS) - share * index // len(KINDS)
            valid = (m for m in found if m.kind == kind and _is_valid(root, m))
            made += list(itertools.islice(valid, of_kind))
    return sorted(made, key=lambda m: (m.path, m.start))


def sites(root: Path, file: Path) -> Iterator[Mutant]:
    """Yield the mutants of a file."""
    source = file.read_bytes()
    tree = ast.parse(source)
    starts = line_starts(source)
    for node, kind in _walk(tree, in_function=False):
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        if kind == "comparison":
            begin, end = starts[node.left.end_lineno - 1] + node.left.end_col_offset, \
                starts[node.comparators[0].lineno - 1] + node.comparators[0].col_offset
        old = source[begin:end].decode()
        new = _changed(node, kind, old)
        if new is not None:
            yield Mutant(str(file.relative_to(root)), kind, node.lineno, begin, end, old, new)


def line_starts(source: bytes) -> list[int]:
    """Return the offset in bytes at which each line of a source begins."""
    return [0, *itertools.accumulate(len(line) + 1 for line in source.split(b"\n"))]


def _is_valid(root: Path, mutant: Mutant) -> bool:
    """Return whether the mutant compiles and differs from the source."""
    source = (root / mutant.path).read_bytes()
    try:
        return ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def _walk(node: ast.AST, in_function: bool) -> Iterator[tuple]:
    """Yield (node, kind) for what may be mutated: no imports, annotations, docstrings, f-strings, ``__all__`` or slots."""
    if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom)) or _declares(node):
        return
    kind = _kind(node, in_function)
    if kind is not None:
        yield node, kind
    inside = in_function or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child, inside)


def _declares(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id in NAMES_OF_PYTHON for t in node.targets)


def _kind(node: ast.AST, in_function: bool) -> str | None:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return "comparison"
    if isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
        return "constant"
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return "statement" if in_function and isinstance(node, DROPPED) and not is_text else None


def _changed(node: ast.AST, kind: str, old: str) -> str | None:
    if kind == "statement":
        return "pass"
    if kind == "comparison":
        assert isinstance(node, ast.Compare)
        pattern, turned = TURNED[type(node.ops[0])]
        new, found = re.subn(rf"(?<![\w<>=!]){pattern}(?![\w<>=])", turned, old, count=1)
        return new if found else None
    assert isinstance(node, ast.Constant)
    value: Any = node.value
    if isinstance(value, bool):
        return repr(not value)
    if isinstance(value, int):
        return repr(value + 1)
    return repr(value * 2 if value else 1.0)
