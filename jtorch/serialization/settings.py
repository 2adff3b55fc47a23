"""Settings of all saves and loads: checksums, byte order, memory mapping, and skipping data."""
from __future__ import annotations

import enum
import mmap
import threading
from typing import Any

MAP_PRIVATE, MAP_SHARED = getattr(mmap, "MAP_PRIVATE", None), getattr(mmap, "MAP_SHARED", None)


class LoadEndianness(enum.Enum):
    """The byte order that is assumed for checkpoints without a record of it. See torch.serialization.LoadEndianness."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class Settings:
    """The current values of the settings."""

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
    """Set whether ``torch.save`` computes a checksum for each record. Without checksums, damage to a file goes unnoticed."""
    Settings.crc32 = compute_crc32


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the byte order that is assumed for checkpoints without a record of it; None means little."""
    return Settings.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order that is assumed for checkpoints without a record of it."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    Settings.endianness = endianness


def get_default_mmap_options() -> int | None:
    """Return the flags with which ``torch.load(mmap=True)`` maps files."""
    return Settings.mmap_flags


class set_default_mmap_options:
    """Set the flags with which ``torch.load(mmap=True)`` maps files, from now on or in a ``with`` block.

    With ``mmap.MAP_SHARED`` a write to a loaded tensor changes the file; with ``mmap.MAP_PRIVATE`` it does not.
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
    """A block in which ``torch.save`` writes zeros in place of elements, and ``torch.load`` reads no elements."""

    def __init__(self, materialize_fake_tensors: bool = False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = of_thread.skip_data
        of_thread.skip_data = True

    def __exit__(self, *exc_info: Any) -> None:
        of_thread.skip_data = self._before
