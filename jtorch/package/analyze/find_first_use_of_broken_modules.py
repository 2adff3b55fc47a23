"""The question why a package needs the modules that cannot be packed."""
from __future__ import annotations

from jtorch.package._errors import PackagingError

__all__ = ["find_first_use_of_broken_modules"]


def find_first_use_of_broken_modules(exc: PackagingError) -> dict[str, list[str]]:
    """Return, by name, the path of modules by way of which each module with an error was first found."""
    if not isinstance(exc, PackagingError):
        raise AssertionError(f"exception must be a PackagingError, got {type(exc).__name__}")      # noqa: TRY004 (PyTorch's type)
    graph = exc.dependency_graph
    return {name: graph.first_path(name) for name, attributes in graph.nodes.items() if attributes.get("error")}
