"""Files that are written completely or not at all."""
from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from typing import IO

_UNNAMED = getattr(os, "O_TMPFILE", 0)


@contextlib.contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """Open a file that replaces ``path`` at the end of the block, and is dropped if the block raises.

    The file is written in the same folder, flushed to the disk and renamed. So a reader finds the old content or the new one,
    even after a crash. If the system allows, the file has no name until it is complete, so a killed process leaves nothing.
    Links are followed, and the old file's permissions are kept. A path that is no regular file (a pipe, ``/dev/null``) is
    written directly.
    """
    path = os.path.realpath(path)
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as file:
            yield file
        return
    folder, name = os.path.split(path)
    temporary = f"{folder}/.{name[:200]}.{secrets.token_hex(6)}.tmp"
    with _created(folder, temporary) as (file, named):
        try:
            yield file
            file.flush()
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            os.fsync(file.fileno())
            if not named:
                _give_name(file.fileno(), folder, temporary)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
    _flush_folder(folder)


def _mode(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _created(folder: str, temporary: str) -> Iterator[tuple[IO[bytes], bool]]:
    """Yield the new file, and whether it has its temporary name already."""
    fd = None
    if _UNNAMED and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):      # Some file systems have no unnamed files.
            fd = os.open(folder, _UNNAMED | os.O_WRONLY, 0o666)
    named = fd is None
    if fd is None:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    with open(fd, "wb") as file:
        yield file, named


def _give_name(fd: int, folder: str, temporary: str) -> None:
    directory = os.open(folder, os.O_RDONLY)
    try:        # os.link can follow the link under /proc only if a folder's descriptor is given.
        os.link(f"/proc/self/fd/{fd}", os.path.basename(temporary), dst_dir_fd=directory, follow_symlinks=True)
    finally:
        os.close(directory)


def _flush_folder(folder: str) -> None:
    """Flush the folder, so that the new name survives a power failure. Do nothing on systems that cannot flush folders."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
