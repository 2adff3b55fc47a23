"""torch.save: writes the pickle, then the storages, to a zip archive or the older stream of pickles."""
from __future__ import annotations

import contextlib
import os
import pickle
import struct
import sys
from typing import IO, Any

import numpy as np

from jtorch.serialization.archive import Writer
from jtorch.serialization.atomic import replacing
from jtorch.serialization.legacy import MAGIC_NUMBER, PROTOCOL_VERSION
from jtorch.serialization.pickler import Storages, bytes_of, pickled
from jtorch.serialization.settings import Settings, of_thread


def is_path(f: Any) -> bool:
    """Return whether a file is given by its path."""
    return isinstance(f, (str, os.PathLike))


@contextlib.contextmanager
def _opened(f: Any):
    if is_path(f):
        with replacing(os.fspath(f)) as file:
            yield file
    else:
        yield f
        flush = getattr(f, "flush", None)
        if flush is not None:
            flush()


def check_target(f: Any) -> None:
    """Raise AttributeError unless ``f`` is a path or a file-like object."""
    if not is_path(f) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")


def save(obj: Any, f: Any, pickle_module: Any, protocol: int, archive: bool, byteorder: bool) -> None:
    """Save an object. See ``torch.save``."""
    check_target(f)
    if not archive and of_thread.skip_data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    storages = Storages()
    data = pickled(obj, storages, pickle_module, protocol, legacy=not archive)
    with _opened(f) as file:
        if archive:
            _write_archive(file, root_of(f), data, storages, byteorder)
        else:
            _write_stream(file, data, storages, pickle_module, protocol)


def root_of(f: Any) -> str:
    """Return the folder of an archive's records: the file's name without its extension."""
    name = os.fsdecode(os.path.basename(os.fspath(f))) if is_path(f) else ""
    return (os.path.splitext(name)[0] or name) if name.isascii() and name else "archive"


def _write_archive(file: IO[bytes], root: str, data: bytes, storages: Storages, byteorder: bool) -> None:
    writer = Writer(file, root, alignment=Settings.alignment, crc=Settings.crc32)
    writer.record("data.pkl", data)
    writer.record(".format_version", b"1")
    writer.record(".storage_alignment", str(Settings.alignment).encode())
    if byteorder:
        writer.record("byteorder", sys.byteorder.encode())
    for key, storage in storages.found.items():
        empty = of_thread.skip_data
        writer.record(f"data/{key}", np.zeros(storage.aval.nbytes, np.uint8) if empty else bytes_of(storage))
    writer.close()


def _write_stream(file: IO[bytes], data: bytes, storages: Storages, pickle_module: Any, protocol: int) -> None:
    sizes = {name: struct.calcsize(f"={code}") for name, code in (("short", "h"), ("int", "i"), ("long", "l"))}
    system = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}
    for head in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        file.write(pickle_module.dumps(head, protocol=protocol))
    file.write(data)
    keys = sorted(storages.found, key=str)
    file.write(pickle.dumps([str(key) for key in keys], protocol=protocol))
    for key in keys:
        content = bytes_of(storages.found[key])
        file.write(struct.pack("<q", len(content) // storages.dtype_of(key).itemsize))
        file.write(memoryview(content))     # type: ignore[arg-type]
