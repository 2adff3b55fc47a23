"""Warnings that show the user's line instead of the package's, and warnings that PyTorch gives once in a process."""
from __future__ import annotations

import contextlib
import threading
import warnings
import weakref
from collections.abc import Iterator

from jtorch._base import caller


class Once:
    """The messages that ``warn_once`` has given, and whether it repeats them (``always``)."""

    always = False
    given: set[str] = set()


class _Silence(threading.local):
    depth = 0


_silence = _Silence()


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Silence this module's warnings in the block, in this thread, such as while JAX traces an op again for its derivative."""
    _silence.depth += 1
    try:
        yield
    finally:
        _silence.depth -= 1


FILTERS = threading.RLock()     # the warning filters belong to the process, so threads must not change them concurrently
_ignoring: weakref.WeakSet[ignored] = weakref.WeakSet()
_before: list[warnings.catch_warnings] = []


class ignored:  # noqa: N801  (a context manager)
    """Ignore all warnings in the block, in all threads. Several threads may be in such blocks at once."""

    def __enter__(self) -> None:
        with FILTERS:
            if not _ignoring and not _before:
                _before.append(warnings.catch_warnings())
                _before[0].__enter__()
                warnings.simplefilter("ignore")
            _ignoring.add(self)

    def __exit__(self, *_: object) -> None:
        with FILTERS:
            _ignoring.discard(self)
            if not _ignoring and _before:
                _before.pop().__exit__(None, None, None)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the user's line as the location."""
    if not _silence.depth:
        warnings.warn(message, category, stacklevel=caller.level())


def warn_once(message: str) -> None:
    """Give a UserWarning the first time, or each time after ``torch.set_warn_always(True)``."""
    if not _silence.depth and (Once.always or message not in Once.given):
        Once.given.add(message)
        warn(message)
