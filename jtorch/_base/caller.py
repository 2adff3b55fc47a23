"""The line of the user's program that a call comes from, for warnings, traces and reports."""
from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from types import FrameType

import jax

_PACKAGE = f"{Path(__file__).parent.parent}{os.sep}"
_OURS = (_PACKAGE, "<jtorch ")      # the package's files and its generated code
_NOT_THE_USERS = (*_OURS, f"{Path(jax.__file__).parent}{os.sep}")       # JAX's frames are on the stack while JAX traces an op


def is_ours(filename: str) -> bool:
    """Return whether a source file belongs to the package."""
    return filename.startswith(_OURS)


_SITE = Path(jax.__file__).parent.parent
_LIBRARIES = (*_NOT_THE_USERS, *[f"{_SITE / name}{os.sep}" for name in ("jaxlib", "numpy", "scipy", "ml_dtypes", "opt_einsum")],
              f"{sysconfig.get_paths()['stdlib']}{os.sep}", "<")


def interrupts(error: BaseException) -> bool:
    """Return whether an error interrupted the package: memory ran out, or a signal handler of the user raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return isinstance(error, MemoryError) or (trace is not None and not trace.tb_frame.f_code.co_filename.startswith(_LIBRARIES))


def line() -> str:
    """Return ``file:line`` of the user's innermost frame."""
    frame, _ = _innermost()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "?"


def level() -> int:
    """Return the ``stacklevel`` for a warning of the caller that shows the user's line."""
    return _innermost()[1] - 1


def _innermost() -> tuple[FrameType | None, int]:
    """Return the user's innermost frame and its distance from this function's caller."""
    frame: FrameType | None = sys._getframe(1)
    above = 1
    while frame is not None and not _is_the_users[frame.f_code.co_filename]:
        frame, above = frame.f_back, above + 1
    return frame, above


class _Files(dict[str, bool]):
    """A cache: maps a source file to True if it is the user's."""

    def __missing__(self, filename: str) -> bool:
        if len(self) > MAX_FILES:       # generated code may have endlessly many file names
            self.clear()
        found = self[filename] = not filename.startswith(_NOT_THE_USERS)
        return found


MAX_FILES = 10_000      # Entries of the cache. A larger value takes more memory.
_is_the_users = _Files()
