"""What is set for all saves and loads: checksums, byte order, memory mapping, leaving data out."""
from __future__ import annotations

import enum
import mmap
import threading
from typing import Any

MAP_PRIVATE, MAP_SHARED = getattr(mmap, "MAP_PRIVATE", None), getattr(mmap, "MAP_SHARED", None)


class LoadEndianness(enum.Enum):
    """The byte order of a checkpoint that does not say which it has. See torch.serialization.LoadEndianness."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class Settings:
    """The values that the functions of this file read and write."""

    crc32 = True
    alignment = 64
    endianness: LoadEndianness | None = None
    mmap_flags = MAP_PRIVATE


class _OfThread(threading.local):
    skip_data = False


of_thread = _OfThread()


def get_crc32_options() -> bool:
    """Return whether ``torch.save`` computes a checksum for each record."""
    return Settings.crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Says whether ``torch.save`` computes a checksum for each record; without, damage to a file is not noticed."""
    Settings.crc32 = compute_crc32


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the byte order assumed for checkpoints that do not say theirs; None is little."""
    return Settings.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order assumed for checkpoints that do not say theirs."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    Settings.endianness = endianness


def get_default_mmap_options() -> int | None:
    """How ``torch.load(mmap=True)`` maps files."""
    return Settings.mmap_flags


class set_default_mmap_options:
    """How ``torch.load(mmap=True)`` maps files from now on, or in a ``with`` block.

    With ``mmap.MAP_SHARED`` what is written to a loaded tensor goes to the file; with ``mmap.MAP_PRIVATE`` it does not.
    """

    def __init__(self, flags: int):
        if MAP_PRIVATE is None:
            raise RuntimeError("Changing the default mmap options is currently not supported for Windows")
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError("Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                             f"mmap.MAP_SHARED, but got {flags}")
        self.prev = Settings.mmap_flags
        Settings.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: Any) -> None:
        Settings.mmap_flags = self.prev


class skip_data:
    """A ``with`` block in which ``torch.save`` leaves room for the elements but writes none, and ``torch.load`` reads none."""

    def __init__(self, materialize_fake_tensors: bool = False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = of_thread.skip_data
        of_thread.skip_data = True

    def __exit__(self, *exc_info: Any) -> None:
        of_thread.skip_data = self._before
