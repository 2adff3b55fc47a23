"""Errors of packing, with the reasons of all modules at once."""
from __future__ import annotations

from enum import Enum

from jtorch.package._digraph import DiGraph

# Modules of Python's library that reach far into the system. A package names them as external, or cannot use them.
DISALLOWED_MODULES = ["sys", "io"]


class PackagingErrorReason(Enum):
    """Why a module cannot be packed."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}>"

    IS_EXTENSION_MODULE = "Module is a C extension module. torch.package supports Python modules only."
    NO_DUNDER_FILE = "Module had no __file__ defined."
    SOURCE_FILE_NOT_FOUND = "Module had a __file__, but we could not find it in your filesystem."
    DEPENDENCY_RESOLUTION_FAILED = "Dependency resolution failed."
    NO_ACTION = "Module did not match against any action pattern. Extern, mock, or intern it."
    DENIED = "Module was denied by a pattern."
    MOCKED_BUT_STILL_USED = ("Module was mocked out, but is still being used in the package. Please intern or extern the mocked "
                             "modules if objects are supposed to be in the package.")


class EmptyMatchError(Exception):
    """Raised when a pattern with ``allow_empty=False`` matches no module."""


class PackagingError(Exception):
    """Raised when modules cannot be packed. ``dependency_graph`` has the reasons."""

    def __init__(self, dependency_graph: DiGraph, debug: bool = False):
        self.dependency_graph = dependency_graph
        reasons: dict[PackagingErrorReason, list[str]] = {}
        for name, attributes in dependency_graph.nodes.items():
            if attributes.get("error") is not None:
                reasons.setdefault(attributes["error"], []).append(name)
        text = "\n"
        for reason, names in reasons.items():
            text += f"* {reason.value}\n" + "".join(_lines(dependency_graph, name, debug) for name in names)
        if not debug:
            text += ("\nSet debug=True when invoking PackageExporter for a visualization of where broken modules are coming "
                     "from!\n")
        super().__init__(text)


def _lines(graph: DiGraph, name: str, debug: bool) -> str:
    """Return the lines about one module: its name, details, advice and, for debugging, a path to it."""
    text, context = f"    {name}\n", graph.nodes[name].get("error_context")
    if context is not None:
        text += f"      Context: {context}\n"
    if name in DISALLOWED_MODULES:
        text += (f"      Note: While we usually use modules in the python standard library from the local environment, `{name}` "
                 "has a lot of system level access and therefore can pose a security risk. We heavily recommend removing "
                 f"`{name}` from your packaged code. However, if that is not possible, add it to the extern list by calling "
                 f'PackageExporter.extern("`{name}`")\n')
    if debug:
        text += f"      A path to {name}: {' -> '.join(graph.first_path(name))}\n"
    return text
