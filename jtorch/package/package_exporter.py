"""PackageExporter: writes packages."""
from __future__ import annotations

import io
import os
import platform
import sys
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jtorch._nodes.hooks import RemovableHandle
from jtorch.package import _dependencies
from jtorch.package._archive_reader import file_name
from jtorch.package._dependencies import Action as _ModuleProviderAction
from jtorch.package._dependencies import ActionHook, can_implicitly_extern
from jtorch.package._errors import EmptyMatchError, PackagingError, PackagingErrorReason
from jtorch.package._mangling import is_mangled
from jtorch.package._package_pickler import create_pickler
from jtorch.package.importer import Importer, OrderedImporter, sys_importer
from jtorch.serialization import archive, pickler
from jtorch.serialization.pickler import bytes_of
from jtorch.serialization.renaming import globals_of
from jtorch.serialization.saving import root_of

__all__ = ["EmptyMatchError", "PackageExporter", "PackagingError", "PackagingErrorReason"]

_MOCK_IMPL = """\
from _mock import MockedObject
def __getattr__(attr: str):
    return MockedObject(__name__ + '.' + attr, _suppress_err=True)
"""


class PackageExporter(_dependencies.Dependencies):
    """Writes an archive of code, pickled objects, texts and bytes, which ``PackageImporter`` loads.

    The code of modules is copied from their files. Each module that the code or a pickle needs must match a pattern of
    ``intern``, ``extern`` or ``mock``, or belong to torch or Python's library. Otherwise ``close`` raises PackagingError. PyTorch
    reads the archive, too.

    Args:
        f: a path or a binary file that can be written
        importer: the environment in which modules and classes are found, or a sequence of environments
        debug: whether a PackagingError shows the path to each module

    >>> import io, jtorch as torch
    >>> from jtorch.package import PackageExporter, PackageImporter
    >>> file = io.BytesIO()
    >>> with PackageExporter(file) as exporter:
    ...     exporter.save_source_string("greeting", "def greet(name): return f'Hello {name}'")
    ...     exporter.save_pickle("weights", "ones.pkl", torch.ones(2))
    >>> importer = PackageImporter(file)
    >>> importer.import_module("greeting").greet("you")
    'Hello you'
    >>> importer.load_pickle("weights", "ones.pkl")
    tensor([1., 1.])

    """

    def __init__(self, f: Any, importer: Importer | Sequence[Importer] = sys_importer, debug: bool = False):
        super().__init__()
        self.debug = debug
        if isinstance(importer, Importer):
            self.importer = importer
        elif isinstance(importer, Sequence):
            self.importer = OrderedImporter(*importer)
        else:
            raise TypeError(f"importer arg should be an Importer or a sequence of Importers, got {type(importer)} instead.")
        self.buffer = None if isinstance(f, (str, os.PathLike)) else f
        self._file = _created(f) if self.buffer is None else self.buffer
        self.zip_file = archive.Writer(self._file, root_of(f))
        self._storages, self._stored = pickler.Storages(), 0
        self._reduced: dict[int, tuple] = {}
        self._written_files: set[str] = set()
        self._unique_id = 0
        hooked = (_ModuleProviderAction.EXTERN, _ModuleProviderAction.MOCK, _ModuleProviderAction.INTERN)
        self._hooks: dict[_ModuleProviderAction, OrderedDict] = {action: OrderedDict() for action in hooked}

    # -- contents -----------------------------------------------------------------------------------------------------

    def save_pickle(self, package: str, resource: str, obj: Any, dependencies: bool = True, pickle_protocol: int = 3) -> None:
        """Pickle an object into the package, and, with ``dependencies``, treat the modules of its classes by the patterns.

        Args:
            package: the name of the package that gets the file
            resource: the name of the file
            obj: the object
            dependencies: whether the modules of the object's classes are added
            pickle_protocol: 3 or 4

        """
        if pickle_protocol not in (3, 4):
            raise AssertionError(f"torch.package only supports pickle protocols 3 and 4, got {pickle_protocol}")
        filename, data = self._filename(package, resource), io.BytesIO()
        create_pickler(data, self.importer, self._storages, self._reduce, pickle_protocol).dump(obj)
        self._write_storages()
        node = f"<{package}.{resource}>"
        self.dependency_graph.add_node(node, action=_ModuleProviderAction.INTERN, provided=True, is_pickle=True)
        if dependencies:
            self._add_modules_of(node, data.getvalue(), package, resource)
        self._write(filename, data.getvalue())

    def _add_modules_of(self, node: str, data: bytes, package: str, resource: str) -> None:
        names: dict[str, list[str]] = {}
        for module, name in globals_of(data):
            names.setdefault(module, []).append(name)
        for module, used in names.items():
            self.dependency_graph.add_edge(node, module)
            pattern = None if can_implicitly_extern(module) else self._pattern_of(module)
            if pattern is None or pattern.action is not _ModuleProviderAction.MOCK:
                self.add_dependency(module)
                continue
            self.dependency_graph.add_node(
                module, action=_ModuleProviderAction.MOCK, error=PackagingErrorReason.MOCKED_BUT_STILL_USED, provided=True,
                error_context=f"Object(s) '{used}' from module `{module}` was mocked out during packaging but is being used in "
                              f"resource - `{resource}` in package `{package}`. ")

    def _reduce(self, obj: Any) -> Any:
        """Return the persistent id of an object whose class has ``__reduce_package__``; None for others."""
        if not hasattr(obj, "__reduce_package__"):
            return None
        if id(obj) not in self._reduced:
            self._reduced[id(obj)] = ("reduce_package", id(obj), *obj.__reduce_package__(self))
        return self._reduced[id(obj)]

    def _write_storages(self) -> None:
        """Write the storages that came with the last pickle."""
        for key in range(self._stored, len(self._storages.found)):
            self.zip_file.record(f".data/{key}.storage", bytes_of(self._storages.found[key]))
        self._stored = len(self._storages.found)

    def save_text(self, package: str, resource: str, text: str) -> None:
        """Add a file of text, encoded as UTF-8."""
        self.save_binary(package, resource, text.encode())

    def save_binary(self, package: str, resource: str, binary: bytes) -> None:
        """Add a file of bytes."""
        self._write(self._filename(package, resource), binary)

    def get_unique_id(self) -> str:
        """Return a string that this exporter returns only once."""
        self._unique_id += 1
        return str(self._unique_id - 1)

    # -- hooks --------------------------------------------------------------------------------------------------------

    def register_extern_hook(self, hook: ActionHook) -> RemovableHandle:
        """Call ``hook(exporter, name)`` for each external module as the package is closed. Return a handle that removes it."""
        return RemovableHandle(self._hooks[_ModuleProviderAction.EXTERN], hook)

    def register_mock_hook(self, hook: ActionHook) -> RemovableHandle:
        """Call ``hook(exporter, name)`` for each mocked module. See ``register_extern_hook``."""
        return RemovableHandle(self._hooks[_ModuleProviderAction.MOCK], hook)

    def register_intern_hook(self, hook: ActionHook) -> RemovableHandle:
        """Call ``hook(exporter, name)`` for each packed module. See ``register_extern_hook``."""
        return RemovableHandle(self._hooks[_ModuleProviderAction.INTERN], hook)

    # -- writing ------------------------------------------------------------------------------------------------------

    def __enter__(self) -> PackageExporter:
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if exc_type is None:
            self.close()
        else:       # The archive stays readable.
            self._finalize_zip()

    def close(self) -> None:
        """Write the code of the modules, and the end of the archive. Afterwards nothing can be added.

        Raises:
            PackagingError: the package needs modules that no pattern matches, that are denied, or that have no source
            EmptyMatchError: a pattern with ``allow_empty=False`` matches no module

        """
        self._check()
        for name, attributes in self.dependency_graph.nodes.items():
            for hook in self._hooks.get(attributes["action"], {}).values():
                hook(self, name)
            self._write_module(name, attributes)
        external = [name for name, found in self.dependency_graph.nodes.items()
                    if found["action"] is _ModuleProviderAction.EXTERN]
        self._write(".data/extern_modules", "\n".join(external) + "\n")
        self._write(".data/python_version", platform.python_version())
        self._finalize_zip()

    def _write_module(self, name: str, attributes: dict[str, Any]) -> None:
        action = attributes["action"]
        mocked = action in (_ModuleProviderAction.MOCK, _ModuleProviderAction.REPACKAGED_MOCK_MODULE)
        if mocked and "_mock.py" not in self._written_files:
            self._write("_mock.py", Path(__file__).with_name("_mock.py").read_bytes())
        if action is _ModuleProviderAction.MOCK:
            self._write_source(name, _MOCK_IMPL, hasattr(self._import_module(name), "__path__"))
        elif action is _ModuleProviderAction.INTERN and not attributes.get("is_pickle"):
            self._write_source(name, attributes["source"], attributes["is_package"])

    def _write_source(self, module_name: str, src: str, is_package: bool) -> None:
        self._write(module_name.replace(".", "/") + ("/__init__.py" if is_package else ".py"), src)

    def _write(self, filename: str, content: str | bytes) -> None:
        if filename in self._written_files:
            raise AssertionError(f"Tried to write file '{filename}', but it already exists in this archive. Please file a bug.")
        self._written_files.add(filename)
        if is_mangled(filename):
            raise AssertionError(f"Tried to save a torch.package'd module as '{filename}'. Directly saving torch.package'd "
                                 "modules is not allowed.")
        self.zip_file.record(filename, content.encode() if isinstance(content, str) else content)

    def _finalize_zip(self) -> None:
        self.zip_file.record("byteorder", sys.byteorder.encode())
        self.zip_file.close(".data/version", b"6\n")
        self._file.flush()
        if self.buffer is None:
            self._file.close()

    def _filename(self, package: str, resource: str) -> str:
        return f"{package.replace('.', '/')}/{file_name(resource)}"


def _created(path: Any) -> Any:
    folder = os.path.dirname(os.fspath(path))
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    return open(path, "wb")     # noqa: SIM115 (closed with the archive)
