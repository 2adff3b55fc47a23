"""A project's Python files and notebooks, as syntax trees with places."""
from __future__ import annotations

import ast
import json
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Folders with other people's code, or with files that tools have generated.
SKIPPED = {"__pycache__", "site-packages", "node_modules", "build", "dist", "venv", "env", ".git", ".venv", ".tox", ".eggs"}
_MAGIC = re.compile(r"^\s*[%!?]|^.*\?\s*$")


@dataclass(frozen=True, slots=True)
class Source:
    """A file's text and the name of its module. For a notebook, ``places`` has the place of each line."""

    path: str
    module: str
    text: str
    places: tuple[str, ...] = ()

    def place(self, line: int) -> str:
        """Return the place of a line: its number; in a notebook, the cell's number and the line's number in the cell."""
        return self.places[line - 1] if self.places and line <= len(self.places) else str(line)


def find(given: Path) -> Iterator[Path]:
    """Yield a folder's Python files and notebooks, or the given file itself, whatever its name."""
    if given.is_file():
        yield given
        return
    for folder, folders, names in os.walk(given):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
        yield from (Path(folder, n) for n in sorted(names) if n.endswith((".py", ".ipynb")))


def module_of(path: Path, root: Path) -> str:
    """Return a file's dotted name, from its outermost package, or from ``root`` without one; a package is ``a.__init__``."""
    folder = path.parent
    parts = [path.stem]
    while (folder / "__init__.py").exists() and folder.name:
        parts.insert(0, folder.name)
        folder = folder.parent
    if len(parts) == 1 and path.is_relative_to(root):
        parts = [*path.parent.relative_to(root).parts, path.stem]
    return ".".join(parts)


def load(path: Path, root: Path) -> Source | None:
    """Return a file's text, or a notebook's code; None if it cannot be read as UTF-8 text or as a notebook."""
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except (UnicodeDecodeError, OSError):
        return None
    if path.suffix != ".ipynb":
        return Source(str(path), module_of(path, root), content)
    return _notebook(path, content)


def _notebook(path: Path, content: str) -> Source | None:
    """Return the code of a notebook's cells, with ``pass`` in place of IPython's commands; None if it is no notebook."""
    try:
        cells = [c for c in json.loads(content)["cells"] if c["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        return None
    lines: list[str] = []
    places: list[str] = []
    for number, cell in enumerate(cells, 1):
        text = "".join(cell["source"])
        for at, line in enumerate(text.splitlines() if not text.lstrip().startswith("%%") else [], 1):
            lines.append(re.sub(r"\S.*", "pass", line) if _MAGIC.match(line) else line)
            places.append(f"cell {number}, line {at}")
    return Source(str(path), path.stem, "\n".join(lines), tuple(places))


def parse(text: str) -> ast.Module | None:
    """Return a text's syntax tree; None if it is not Python of this version."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")         # Python warns of invalid escapes in strings
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
