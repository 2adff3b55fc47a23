"""The records of a package that has been unpacked into a directory."""
from __future__ import annotations

import os
from pathlib import Path

import numpy as np


class DirectoryReader:
    """Reads the files of a directory as ``ArchiveReader`` reads records."""

    def __init__(self, directory: str):
        self.directory = directory

    def get_record(self, name: str) -> bytes:
        """Return a file's bytes."""
        return Path(self.directory, name).read_bytes()

    def has_record(self, path: str) -> bool:
        """Return whether there is a file."""
        return os.path.isfile(os.path.join(self.directory, path))

    def get_all_records(self) -> list[str]:
        """Return the paths of all files, without those whose names begin with a dot, except ``.data``."""
        top = Path(self.directory)
        return sorted(path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file())

    record, has = get_record, has_record

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        return os.path.getsize(os.path.join(self.directory, name))

    def array(self, name: str) -> np.ndarray:
        """Return a file as a new array of bytes."""
        return np.frombuffer(bytearray(self.get_record(name)), np.uint8)
