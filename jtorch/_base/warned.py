"""Warnings that show the user's line, however deep in the package they arise; and those that PyTorch gives once in a process."""
from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator

from jtorch._base import caller


class Once:
    """What was warned of."""

    always = False
    given: set[str] = set()


class _Silence(threading.local):
    depth = 0


_silence = _Silence()


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """In the block, in this thread, nothing is warned of: an op's body is traced again for its derivative."""
    _silence.depth += 1
    try:
        yield
    finally:
        _silence.depth -= 1


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning of the line of the user's that led here."""
    if not _silence.depth:
        warnings.warn(message, category, stacklevel=caller.level())


def warn_once(message: str) -> None:
    """A UserWarning, the first time, or each time if ``torch.set_warn_always`` says so."""
    if not _silence.depth and (Once.always or message not in Once.given):
        Once.given.add(message)
        warn(message)
