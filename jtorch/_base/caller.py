"""Where in the user's program a call comes from: for warnings, traces and reports."""
from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from types import FrameType

import jax

_PACKAGE = f"{Path(__file__).parent.parent}{os.sep}"
_OURS = (_PACKAGE, "<jtorch ")      # the package's files, and the code it makes
_NOT_THE_USERS = (*_OURS, f"{Path(jax.__file__).parent}{os.sep}")       # JAX stands in between where an op is traced


def is_ours(filename: str) -> bool:
    """Whether a source file is one of the package's."""
    return filename.startswith(_OURS)


_SITE = Path(jax.__file__).parent.parent
_LIBRARIES = (*_NOT_THE_USERS, *[f"{_SITE / name}{os.sep}" for name in ("jaxlib", "numpy", "scipy", "ml_dtypes", "opt_einsum")],
              f"{sysconfig.get_paths()['stdlib']}{os.sep}", "<")


def interrupts(error: BaseException) -> bool:
    """Whether an error comes from outside of what was being done: no memory, or what a handler of the user's has raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return isinstance(error, MemoryError) or (trace is not None and not trace.tb_frame.f_code.co_filename.startswith(_LIBRARIES))


def line() -> str:
    """``file:line`` of the innermost frame that is the user's."""
    frame, _ = _innermost()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "?"


def level() -> int:
    """The ``stacklevel`` with which a warning of the caller shows the user's line."""
    return _innermost()[1] - 1


def _innermost() -> tuple[FrameType | None, int]:
    """The innermost frame that is the user's, and how many frames it is above this function's caller."""
    frame: FrameType | None = sys._getframe(1)
    above = 1
    while frame is not None and not _is_the_users[frame.f_code.co_filename]:
        frame, above = frame.f_back, above + 1
    return frame, above


class _Files(dict[str, bool]):
    """Whether a source file is the user's; each is looked at once."""

    def __missing__(self, filename: str) -> bool:
        if len(self) > MAX_FILES:       # code made by a program has names without end
            self.clear()
        found = self[filename] = not filename.startswith(_NOT_THE_USERS)
        return found


MAX_FILES = 10_000
_is_the_users = _Files()
