"""The files of a package for ``importlib.resources``."""
from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from jtorch.package._directory_reader import DirectoryReader


class PackageResourceReader:
    """Gives the files of one package of a ``PackageImporter``. See ``importlib.resources.abc.ResourceReader``."""

    def __init__(self, importer: Any, fullname: str):
        self.importer, self.fullname = importer, fullname

    def open_resource(self, resource: str) -> io.BytesIO:
        """Return a file's content as a stream."""
        return io.BytesIO(self.importer.load_binary(self.fullname, resource))

    def resource_path(self, resource: str) -> str:
        """Return a file's path. Raise FileNotFoundError for a file of an archive."""
        reader, path = self.importer.zip_reader, f"{self.fullname.replace('.', '/')}/{resource}"
        if isinstance(reader, DirectoryReader) and reader.has_record(path):
            return os.path.join(reader.directory, path)
        raise FileNotFoundError

    def is_resource(self, name: str) -> bool:
        """Return whether there is a file with a name."""
        return self.importer.zip_reader.has_record(self.importer._zipfile_path(self.fullname, name))

    def contents(self) -> Iterator[str]:
        """Yield the names of the package's files, and of directories directly below it that have files."""
        top, seen = PurePosixPath(self.importer._zipfile_path(self.fullname)), set()
        for name in map(PurePosixPath, self.importer.zip_reader.get_all_records()):
            if not name.is_relative_to(top):
                continue
            relative = name.relative_to(top)
            shown = relative.parent.name or relative.name
            if shown not in seen:
                seen.add(shown)
                yield shown
