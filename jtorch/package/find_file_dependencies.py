"""The modules that a source imports."""
from __future__ import annotations

import ast
from typing import Any


def resolve_name(name: str | None, package: str, level: int) -> str:
    """Return the full name of a relative import. Raise ValueError above the top."""
    parts = package.rsplit(".", level - 1)
    if len(parts) < level:
        raise ValueError("attempted relative import beyond top-level package")
    return f"{parts[0]}.{name}" if name else parts[0]


class _ExtractModuleReferences(ast.NodeVisitor):
    """Collects (module, name) pairs of import statements and of calls of ``__import__``; the name is None for whole modules."""

    @classmethod
    def run(cls, src: str, package: str) -> list[tuple[str, str | None]]:
        """Return the pairs of a source, which belongs to a package, in their order."""
        visitor = cls(package)
        visitor.visit(ast.parse(src))
        return list(visitor.references)

    def __init__(self, package: str):
        super().__init__()
        self.package = package
        self.references: dict[tuple[str, str | None], bool] = {}

    def _add(self, module: str, name: str | None = None) -> None:
        self.references[module, None if name == "*" else name] = True

    def _absolute(self, name: str | None, level: int) -> str:
        return resolve_name(name, self.package, level) if level else str(name)

    def visit_Import(self, node: ast.Import) -> None:
        """Collect ``import a.b``."""
        for alias in node.names:
            self._add(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Collect ``from a import b``, in which ``b`` may be a module."""
        module = self._absolute(node.module, node.level)
        for alias in node.names:
            self._add(module, alias.name)

    def visit_Call(self, node: ast.Call) -> None:
        """Collect a call of ``__import__`` with literal arguments. A call inside another call is not searched."""
        if getattr(node.func, "id", None) == "__import__":
            try:
                self._add_call(node)
            except Exception:       # Some argument is computed.
                return

    def _add_call(self, node: ast.Call) -> None:
        given: dict[str | None, Any] = dict(zip(("name", "globals", "locals", "fromlist", "level"), node.args, strict=False))
        given |= {k.arg: k.value for k in node.keywords if k.arg in ("fromlist", "level")}
        name = ast.literal_eval(given["name"])
        level = ast.literal_eval(given["level"]) if "level" in given else 0
        members = [ast.literal_eval(e) for e in given["fromlist"].elts] if "fromlist" in given else []
        if members:
            for member in members:
                self._add(self._absolute(name, level), member)
            return
        self._add(name)
        if "." in name:
            self._add(self._absolute(name.rsplit(".", 1)[0], level))


find_files_source_depends_on = _ExtractModuleReferences.run
