"""The modules that a package needs, and what becomes of each: packed, external, mocked or denied."""
from __future__ import annotations

import importlib.machinery
import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

from jtorch.package._digraph import DiGraph
from jtorch.package._errors import DISALLOWED_MODULES, EmptyMatchError, PackagingError, PackagingErrorReason
from jtorch.package._mangling import demangle, is_mangled
from jtorch.package.find_file_dependencies import find_files_source_depends_on
from jtorch.package.glob_group import GlobGroup, GlobPattern
from jtorch.package.importer import Importer
from jtorch.serialization.names import is_torch


class Action(Enum):
    """What becomes of a module."""

    INTERN = 1
    EXTERN = 2
    MOCK = 3
    DENY = 4
    REPACKAGED_MOCK_MODULE = 5      # The module ``_mock`` of a package that is packed again.
    SKIP = 6                        # ``torch_package_importer``, which each importer provides.


@dataclass
class Pattern:
    """The action for modules that match a pattern."""

    action: Action
    allow_empty: bool
    was_matched: bool = False


class Dependencies:
    """The graph of modules and pickles of a package. See ``PackageExporter``."""

    importer: Importer
    debug: bool

    def __init__(self) -> None:
        self.dependency_graph = DiGraph()
        self.patterns: dict[GlobGroup, Pattern] = {}

    # -- patterns -----------------------------------------------------------------------------------------------------

    def _add_pattern(self, action: Action, include: GlobPattern, exclude: GlobPattern, allow_empty: bool) -> None:
        self.patterns[GlobGroup(include, exclude=exclude)] = Pattern(action, allow_empty)

    def intern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Pack the code of modules that match. The first pattern that matches a module counts.

        Args:
            include: patterns of names. See ``GlobGroup``
            exclude: patterns of names that do not match
            allow_empty: if False and no module matches, ``close`` raises EmptyMatchError

        """
        self._add_pattern(Action.INTERN, include, exclude, allow_empty)

    def extern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Import modules that match from the environment in which the package is loaded. See ``intern``."""
        self._add_pattern(Action.EXTERN, include, exclude, allow_empty)

    def mock(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Put modules whose objects raise NotImplementedError in place of those that match. See ``intern``."""
        self._add_pattern(Action.MOCK, include, exclude, allow_empty)

    def deny(self, include: GlobPattern, *, exclude: GlobPattern = ()) -> None:
        """Make ``close`` raise PackagingError if the package needs a module that matches. See ``intern``."""
        self._add_pattern(Action.DENY, include, exclude, True)

    # -- modules ------------------------------------------------------------------------------------------------------

    def save_module(self, module_name: str, dependencies: bool = True) -> None:
        """Pack the code of a module, found by the exporter's importer, and, with ``dependencies``, treat the modules that it
        imports by the patterns.
        """
        if not isinstance(module_name, str):
            raise TypeError("save_module() expects a string input, did you perhaps mean to pass `__name__`?")
        self._intern_module(module_name, dependencies)

    def save_source_file(self, module_name: str, file_or_directory: str, dependencies: bool = True) -> None:
        """Pack a file of code as a module, or the files ``*.py`` of a directory and those below it as modules of a package."""
        path = Path(file_or_directory)
        if not path.is_dir():
            self.save_source_string(module_name, path.read_bytes().decode(), path.name == "__init__.py", dependencies)
            return
        # All files are read before any imports are searched, so that these find the modules of the directory.
        found = [(file.relative_to(path).with_suffix("").parts, file.read_bytes().decode()) for file in path.glob("**/*.py")]
        for parts, source in found:
            name, is_package = ".".join((module_name, *parts)), parts[-1] == "__init__"
            self.save_source_string(name.removesuffix(".__init__"), source, is_package, dependencies)

    def save_source_string(self, module_name: str, src: str, is_package: bool = False, dependencies: bool = True) -> None:
        """Pack code, given as a string, as a module, or as a package's ``__init__``."""
        self.dependency_graph.add_node(module_name, source=src, is_package=is_package, provided=True, action=Action.INTERN)
        if dependencies:
            for needed in self._get_dependencies(src, module_name, is_package):
                self.dependency_graph.add_edge(module_name, needed)
                self.add_dependency(needed)

    def add_dependency(self, module_name: str, dependencies: bool = True) -> None:
        """Add a module that the package needs, and treat it by the patterns."""
        graph = self.dependency_graph
        if module_name in graph and graph.nodes[module_name].get("provided") is True:
            return
        action = _ALWAYS.get(module_name) or (Action.EXTERN if can_implicitly_extern(module_name) else None)
        if action is not None:
            graph.add_node(module_name, action=action, provided=True)
            return
        pattern = self._pattern_of(module_name)
        if pattern is None:
            graph.add_node(module_name, error=PackagingErrorReason.NO_ACTION)
            return
        pattern.was_matched = True
        graph.add_node(module_name, action=pattern.action, provided=True)
        if pattern.action is Action.DENY:
            graph.add_node(module_name, error=PackagingErrorReason.DENIED)
        elif pattern.action is Action.INTERN:
            self._intern_module(module_name, dependencies)

    def _pattern_of(self, module_name: str) -> Pattern | None:
        return next((pattern for group, pattern in self.patterns.items() if group.matches(module_name)), None)

    def _intern_module(self, module_name: str, dependencies: bool) -> None:
        module = self._import_module(module_name)
        # An importer has understood the name, with its prefix or without one. The package has it without.
        name, is_package, source = demangle(module_name), hasattr(module, "__path__"), _source_of(module)
        if source is None:
            reason, context = _why_no_source(module)
            self.dependency_graph.add_node(name, action=Action.INTERN, is_package=is_package, provided=True, error=reason,
                                           error_context=context)
        else:
            self.save_source_string(name, source, is_package, dependencies)

    def _get_dependencies(self, src: str, module_name: str, is_package: bool) -> list[str]:
        """Return the modules that a source imports."""
        try:
            pairs = find_files_source_depends_on(src, module_name if is_package else module_name.rsplit(".", 1)[0])
        except Exception as e:      # The source cannot be parsed, or has a relative import beyond its top-level package.
            self.dependency_graph.add_node(module_name, error=PackagingErrorReason.DEPENDENCY_RESOLUTION_FAILED,
                                           error_context=str(e))
            return []
        found: dict[str, bool] = {}
        for module, name in pairs:
            # A name may be a module itself. Then the package around it is not needed.
            if name is not None and self._module_exists(f"{module}.{name}"):
                found[f"{module}.{name}"] = True
            elif self._module_exists(module):
                found[module] = True
        return list(found)

    def _import_module(self, module_name: str) -> ModuleType:
        try:
            return self.importer.import_module(module_name)
        except ModuleNotFoundError:
            if not is_mangled(module_name):
                raise
            raise ModuleNotFoundError(f"Module not found: '{module_name}'. Make sure the PackageImporter that created this "
                                      "module is present in `self.importer`") from None

    def _module_exists(self, module_name: str) -> bool:
        try:
            self._import_module(module_name)
        except Exception:       # A module may raise anything as it is imported.
            return False
        return True

    # -- results ------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        """Raise PackagingError for modules with errors, and EmptyMatchError for patterns that match none."""
        if any("error" in attributes for attributes in self.dependency_graph.nodes.values()):
            raise PackagingError(self.dependency_graph, debug=self.debug)
        for group, pattern in self.patterns.items():
            if not (pattern.allow_empty or pattern.was_matched):
                raise EmptyMatchError(f"Exporter did not match any modules to {group}, which was marked as allow_empty=False")

    def dependency_graph_string(self) -> str:
        """Return the graph of modules in the DOT language."""
        return self.dependency_graph.to_dot()

    def _modules_with(self, action: Action) -> list[str]:
        return sorted(name for name, attributes in self.dependency_graph.nodes.items()
                      if attributes.get("action") is action and "is_pickle" not in attributes)

    def externed_modules(self) -> list[str]:
        """Return the names of the modules that stay outside."""
        return self._modules_with(Action.EXTERN)

    def interned_modules(self) -> list[str]:
        """Return the names of the modules that are packed."""
        return self._modules_with(Action.INTERN)

    def mocked_modules(self) -> list[str]:
        """Return the names of the modules that are mocked."""
        return self._modules_with(Action.MOCK)

    def denied_modules(self) -> list[str]:
        """Return the names of the modules that are needed and denied."""
        return self._modules_with(Action.DENY)

    def get_rdeps(self, module_name: str) -> list[Any]:
        """Return the names of the modules and pickles that need a module."""
        return list(self.dependency_graph.predecessors(module_name)) if module_name in self.dependency_graph else []

    def all_paths(self, src: str, dst: str) -> str:
        """Return the part of the graph on paths from ``src`` to ``dst`` in the DOT language."""
        return self.dependency_graph.all_paths(src, dst)


_ALWAYS = {"torch_package_importer": Action.SKIP, "_mock": Action.REPACKAGED_MOCK_MODULE}


def can_implicitly_extern(module_name: str) -> bool:
    """Return whether a module is external without a pattern: those of torch and of Python's library."""
    top = module_name.partition(".")[0]
    return is_torch(top) or (top not in DISALLOWED_MODULES and top in sys.stdlib_module_names)


def _source_of(module: ModuleType) -> str | None:
    """Return a module's source, empty for a file that does not exist; None if the module does not come from a file ``*.py``."""
    filename, loader = None, getattr(getattr(module, "__spec__", None), "loader", None)
    if isinstance(loader, importlib.machinery.SourceFileLoader):
        try:
            filename = loader.get_filename(module.__name__)
        except ImportError:     # The loader belongs to another module.
            filename = None
    filename = filename or getattr(module, "__file__", None)
    if not isinstance(filename, str) or not filename.endswith(".py"):
        return None
    return "".join(linecache.getlines(filename, module.__dict__))


def _why_no_source(module: ModuleType) -> tuple[PackagingErrorReason, str | None]:
    filename = getattr(module, "__file__", None)
    if filename is None:
        return PackagingErrorReason.NO_DUNDER_FILE, None
    if filename.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
        return PackagingErrorReason.IS_EXTENSION_MODULE, None
    return PackagingErrorReason.SOURCE_FILE_NOT_FOUND, f"filename: {filename}"


ActionHook = Callable[[Any, str], None]
