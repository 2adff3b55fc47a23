"""Find the names of PyTorch's that a Python file uses, as dotted paths: ``torch.nn.functional.relu``."""
from __future__ import annotations

import ast
import warnings


def names(text: str) -> set[str]:
    """Return the longest paths that a file imports or reads. Return none for a file with a syntax error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")         # The strings of some files cause warnings.
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    found = _File()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.add_import(node)
    found.visit(tree)
    return found.names


def _is_torch(path: str | None) -> bool:
    return path is not None and (path == "torch" or path.startswith("torch."))


class _File(ast.NodeVisitor):
    """One file: the meanings of its names, and the paths it reads."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.names: set[str] = set()

    def add_import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Record the names bound by an import anywhere in the file."""
        if isinstance(node, ast.ImportFrom):
            self._add_from(node)
            return
        for alias in node.names:
            if _is_torch(alias.name):
                self.names.add(alias.name)
                self.aliases[alias.asname or "torch"] = alias.name if alias.asname else "torch"

    def _add_from(self, node: ast.ImportFrom) -> None:
        if node.level or not _is_torch(node.module):
            return
        for alias in node.names:
            path = node.module if alias.name == "*" else f"{node.module}.{alias.name}"
            self.names.add(str(path))
            if alias.name != "*":
                self.aliases[alias.asname or alias.name] = str(path)

    def _path(self, node: ast.expr) -> str | None:
        """Return the path of an expression of names and dots; None for other expressions."""
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id)
        if isinstance(node, ast.Attribute):
            before = self._path(node.value)
            return f"{before}.{node.attr}" if before else None
        return None

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Record a path that is read. An assigned path need not exist."""
        path = self._path(node) if isinstance(node.ctx, ast.Load) else None
        if path is None:
            self.generic_visit(node)
        else:
            self.names.add(path)
