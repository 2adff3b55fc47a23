"""Files that are written whole or not at all."""
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
    """A file that takes the place of ``path`` at the end of the block, and never exists if the block raises.

    It is written in the same folder, flushed to the disk and renamed, so that whoever looks at ``path``, after a crash too,
    finds the old content or the new one. Where the system allows, it has no name until it is complete, so that a process
    that is killed leaves nothing behind. Links are followed; the old file's permissions stay. What is no regular file
    (a pipe, ``/dev/null``) is written to directly.
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
    """The file that is written, and whether it has its temporary name already."""
    fd = None
    if _UNNAMED and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):      # not every file system has files without names
            fd = os.open(folder, _UNNAMED | os.O_WRONLY, 0o666)
    named = fd is None
    if fd is None:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    with open(fd, "wb") as file:
        yield file, named


def _give_name(fd: int, folder: str, temporary: str) -> None:
    directory = os.open(folder, os.O_RDONLY)
    try:        # only with a folder given does Python ask the system to follow the link under /proc
        os.link(f"/proc/self/fd/{fd}", os.path.basename(temporary), dst_dir_fd=directory, follow_symlinks=True)
    finally:
        os.close(directory)


def _flush_folder(folder: str) -> None:
    """Make the new name survive a power cut, where folders can be flushed."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
