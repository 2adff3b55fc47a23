"""PackageImporter: reads packages."""
from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

from jtorch.package import _archive_reader, _modules, _resources, _stored
from jtorch.package._archive_reader import file_name, opened
from jtorch.package._directory_reader import DirectoryReader
from jtorch.package._mangling import demangle
from jtorch.package._package_unpickler import PackageUnpickler
from jtorch.package.file_structure_representation import Directory, _create_directory_from_file_list
from jtorch.package.glob_group import GlobPattern
from jtorch.serialization.locations import restorer

__all__ = ["PackageImporter"]


class PackageImporter(_modules.Modules):
    """Reads an archive of ``PackageExporter``, by jtorch or PyTorch. Loading it can run any code of the package.

    The package's modules are loaded from the archive, into ``modules`` instead of ``sys.modules``. Only the modules that the
    package lists as external come from Python.

    Args:
        file_or_buffer: a path, a binary file, or a directory into which the archive was unpacked
        module_allowed: a function of a name that says whether the package may use the external module

    Raises:
        ImportError: an external module is not allowed, or the names of modules and external modules contradict each other
        RuntimeError: the file is no archive of a package

    >>> import io
    >>> from jtorch.package import PackageExporter, PackageImporter
    >>> file = io.BytesIO()
    >>> with PackageExporter(file) as exporter:
    ...     exporter.save_text("texts", "greeting.txt", "Hello")
    >>> importer = PackageImporter(file)
    >>> importer.load_text("texts", "greeting.txt")
    'Hello'

    """

    def __init__(self, file_or_buffer: Any, module_allowed: Callable[[str], bool] = lambda module_name: True):
        super().__init__()
        if not isinstance(file_or_buffer, (str, os.PathLike)):
            self.filename, self.zip_reader = "<binary>", _archive_reader.ArchiveReader(file_or_buffer)
        else:
            self.filename = os.fspath(file_or_buffer)
            is_directory = os.path.isdir(self.filename)
            self.zip_reader = DirectoryReader(self.filename) if is_directory else \
                _archive_reader.ArchiveReader(opened(self.filename))
        self.extern_modules = self.zip_reader.get_record(".data/extern_modules").decode().splitlines()
        for name in self.extern_modules:
            if not module_allowed(name):
                raise ImportError(f"package '{file_or_buffer}' needs the external module '{name}' but that module has been "
                                  "disallowed")
            self._add_extern(name)
        for name in self.zip_reader.get_all_records():
            self._add_file(name)
        self.last_map_location: Any = None
        self.Unpickler = lambda *args, **kwargs: PackageUnpickler(self, *args, **kwargs)

    def load_binary(self, package: str, resource: str) -> bytes:
        """Return the bytes of a file of a package."""
        return self.zip_reader.get_record(self._zipfile_path(package, resource))

    def load_text(self, package: str, resource: str, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the text of a file of a package. See ``bytes.decode`` for ``encoding`` and ``errors``."""
        return self.load_binary(package, resource).decode(encoding, errors)

    def load_pickle(self, package: str, resource: str, map_location: Any = None) -> Any:
        """Return the object of a pickle. Its classes come from the package, and from external modules.

        Args:
            package: the name of the package
            resource: the name of the pickle's file
            map_location: the devices of the tensors. See ``torch.load``

        """
        path = self._zipfile_path(package, resource)
        storages = _stored.PackageStorages(self, restorer(map_location))
        unpickler = self.Unpickler(io.BytesIO(self.zip_reader.get_record(path)))
        unpickler.persistent_load = storages.persistent_load        # type: ignore[method-assign,assignment]
        self.last_map_location = map_location       # Functions of __reduce_package__ may load more.
        try:
            result = unpickler.load()
        finally:
            self.last_map_location = None
        for stored in storages.found.values():
            stored.finish()
        return result

    def id(self) -> str:
        """Return the prefix of the names of this importer's modules, such as ``<torch_package_0>``."""
        return self._mangler.parent_name()

    def file_structure(self, *, include: GlobPattern = "**", exclude: GlobPattern = ()) -> Directory:
        """Return the tree of files whose paths match. See ``GlobGroup``."""
        return _create_directory_from_file_list(self.filename, self.zip_reader.get_all_records(), include, exclude)

    def python_version(self) -> str | None:
        """Return the version of Python that wrote the package; None if it has none."""
        path = ".data/python_version"
        return self.zip_reader.get_record(path).decode().strip() if self.zip_reader.has_record(path) else None

    def get_resource_reader(self, fullname: str) -> _resources.PackageResourceReader | None:
        """Return the files of a package for ``importlib.resources``; None if the module is no package of this archive."""
        try:
            package = self._get_package(fullname)
        except ImportError:
            return None
        return _resources.PackageResourceReader(self, fullname) if package.__loader__ is self else None

    def _get_package(self, package: Any) -> Any:
        """Return a package by its name, or as it is. Raise TypeError for a module that is none."""
        module = package if hasattr(package, "__spec__") else self.import_module(package)
        if module.__spec__.submodule_search_locations is None:
            raise TypeError(f"{module.__spec__.name if module is package else package!r} is not a package")
        return module

    def _zipfile_path(self, package: Any, resource: str | None = None) -> str:
        found = self._get_package(package)
        if found.__loader__ is not self:
            raise AssertionError(f"package.__loader__ must be self, got {found.__loader__}")
        folder = demangle(found.__name__).replace(".", "/")
        return folder if resource is None else f"{folder}/{file_name(resource)}"
