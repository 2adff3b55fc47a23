"""The records of a package, by their names in PyTorch."""
from __future__ import annotations

import os
from typing import Any

from jtorch.serialization.archive import Reader


class ArchiveReader(Reader):
    """Reads the records of a zip archive."""

    def get_record(self, name: str) -> bytes:
        """Return a record's bytes. Raise RuntimeError if there is none."""
        return self.record(name)

    def has_record(self, name: str) -> bool:
        """Return whether there is a record."""
        return self.has(name)

    def get_all_records(self) -> list[str]:
        """Return the names of all records."""
        return [name.removeprefix(f"{self.root}/") for name in self.infos]


def opened(path: str) -> Any:
    """Return a file that is open for reading."""
    try:
        return open(path, "rb")     # noqa: SIM115 (open as long as the importer)
    except OSError as e:
        raise RuntimeError(f"open file failed because of errno {e.errno} on fopen: {e.strerror}, file path: {path}") from e


def file_name(path: str) -> str:
    """Return the name of a file as a string. Raise ValueError if it has a directory."""
    parent, name = os.path.split(path)
    if parent:
        raise ValueError(f"{path!r} must be only a file name")
    return name
