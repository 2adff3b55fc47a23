"""The format before zip archives: a sequence of pickles (magic number, version, system, object, storage keys), then the data."""
from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch import engine
from jtorch.engine import Value
from jtorch.serialization.archive import ended, read_into
from jtorch.serialization.names import shown
from jtorch.serialization.rebuild import Stored, before_elements
from jtorch.storage import Storage

MAGIC_NUMBER, PROTOCOL_VERSION = 0x1950A86A20F9469CFC6C, 1001


def flat_storage(array: np.ndarray) -> Storage:
    """Return a storage that takes ownership of a one-dimensional host array."""
    return Storage(Value(engine.aval_of(array.shape, array.dtype, engine.CPU), array))


def text(value: Any) -> str:
    """Return a tag of a pickle as str, decoded if the pickle was read with ``encoding="bytes"``."""
    return value.decode("ascii") if isinstance(value, bytes) else value


class Stream:
    """The storages of one file in the legacy format: created while the object is unpickled, and filled afterwards."""

    def __init__(self, file: Any, restore: Callable):
        self.file, self.restore = file, restore
        self.found: dict[str, tuple[Stored, np.ndarray, int]] = {}
        here = file.tell()
        self.room = file.seek(0, 2) - here
        file.seek(here)

    def persistent_load(self, saved: Any) -> Any:
        """Return the class or storage of a persistent id."""
        if not isinstance(saved, tuple) or not saved:
            raise RuntimeError(f"Unknown saved id type: {type(saved).__name__}")
        if text(saved[0]) == "module":      # The id holds a class and its source code.
            return saved[1]
        if text(saved[0]) != "storage" or len(saved) != 6:
            raise RuntimeError(f"Unknown saved id type: {text(saved[0])}")
        kind, key, location, numel, view = saved[1:]
        if view is not None:
            raise NotImplementedError("The checkpoint has views of storages, which only versions of PyTorch before 0.4 wrote")
        if key not in self.found:
            self.found[key] = self._empty(kind, text(location), numel)
        return self.found[key][0]

    def _empty(self, kind: Any, location: str, numel: Any) -> tuple[Stored, np.ndarray, int]:
        dtype = getattr(kind, "dtype", None)
        width = dtype.itemsize if dtype is not None else 1
        if type(numel) is not int or not 0 <= numel * width <= self.room:
            raise RuntimeError(f"A storage in the checkpoint has {numel} elements; the file has only {self.room} bytes")
        array = np.empty(numel, dtype.np if dtype is not None else np.uint8)
        stored = Stored(flat_storage(array), dtype, lambda storage: self.restore(storage, location), filled=False)
        return stored, array, width

    def fill(self, keys: Any, swapped: bool) -> None:
        """Read the data of all storages, and move them to their devices."""
        if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(map(str, self.found)):
            raise RuntimeError("The keys of the storages in the checkpoint are not those that its pickle has: corrupt file?")
        for key in keys:
            _, array, width = self.found[key]
            head = self.file.read(8)
            if len(head) < 8:
                raise ended(8 - len(head))
            n = struct.unpack(">q" if swapped else "<q", head)[0]
            if n * width != array.nbytes:
                raise RuntimeError(f"storage has wrong byte size: expected {array.nbytes} got {n * width}")
            read_into(self.file, array.view(np.uint8))
            if swapped:
                swap(array)
        for stored, *_ in self.found.values():
            stored.finish()


def swap(array: np.ndarray) -> None:
    """Swap the bytes of each number in an array."""
    width = array.itemsize // (2 if array.dtype.kind == "c" else 1)
    array.view(f"u{width}").byteswap(inplace=True)


def load(file: Any, stream: Stream, unpickle: Callable[[Any], Any]) -> Any:
    """Return the object in a file; ``unpickle`` reads one pickle from it."""
    if unpickle(None) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = unpickle(None)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {shown(version)}")
    system = unpickle(None)
    little = system.get("little_endian", True) if isinstance(system, dict) else True
    with before_elements() as later:
        result = unpickle(stream.persistent_load)
    stream.fill(unpickle(None), bool(little) is not (sys.byteorder == "little"))
    for finish in later:
        finish()
    return result


def is_tar(file: Any) -> bool:
    """Return whether a file has PyTorch 0.1's format, which is a tar archive."""
    here = file.tell()
    head = file.read(512)
    file.seek(here)
    return len(head) == 512 and head[257:262] == b"ustar"
