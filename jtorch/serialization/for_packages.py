"""Private functions of torch.serialization that packages with their own loaders call."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from jtorch._base.refused import refused
from jtorch._storage.typed import LEGACY
from jtorch.serialization.locations import restorer as _get_restore_location  # noqa: F401 (PyTorch's name)

_open_zipfile_reader = refused("serialization._open_zipfile_reader", "zipfile.ZipFile reads archives, torch.load checkpoints")


def _is_path(name_or_buffer: object) -> bool:
    """Return whether an argument is a path."""
    return isinstance(name_or_buffer, (str, os.PathLike))


def _is_zipfile(f: Any) -> bool:
    """Return whether a file has a zip archive's signature at its current position."""
    here = f.tell()
    head = f.read(4)
    f.seek(here)
    return head == b"PK\3\4"


def _is_torchscript_zip(zip_file: Any) -> bool:
    """Return whether an archive was written by ``torch.jit.save``."""
    return "constants.pkl" in zip_file.get_all_records()


def _maybe_decode_ascii(bytes_str: bytes | str) -> str:
    """Return a name as str, decoded if it is bytes."""
    return bytes_str.decode("ascii") if isinstance(bytes_str, bytes) else bytes_str


@contextlib.contextmanager
def _open_file_like(name_or_buffer: Any, mode: str) -> Iterator[Any]:
    """Open a path for a ``with`` block; yield a buffer itself, and flush it after writing."""
    if isinstance(name_or_buffer, (str, os.PathLike)):
        with open(name_or_buffer, mode) as file:
            yield file
    elif "w" in mode:
        yield name_or_buffer
        name_or_buffer.flush()
    elif "r" in mode:
        yield name_or_buffer
    else:
        raise RuntimeError(f"Expected 'r' or 'w' in mode but got {mode}")


def normalize_storage_type(storage_type: type) -> Any:
    """Return the legacy storage class with the name of ``storage_type``. See torch.serialization."""
    return LEGACY[storage_type.__name__]
