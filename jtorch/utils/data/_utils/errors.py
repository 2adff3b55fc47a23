"""Exceptions of workers, which are raised again in the main process."""
from __future__ import annotations

import sys
import traceback
from typing import Any, NoReturn


class _KeyErrorText(str):
    """A message that KeyError, which shows the repr of its argument, prints unchanged."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """The type and the formatted traceback of an exception, which ``reraise`` raises in another process or thread.

    The traceback's frames are not kept, because they would keep the worker's data alive.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        exc_info = sys.exc_info() if exc_info is None else exc_info
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise an exception of the same type with the worker's traceback as its message."""
        msg = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is not KeyError and getattr(self.exc_type, "message", None):
            raise self.exc_type(message=msg)
        try:
            exception = self.exc_type(_KeyErrorText(msg) if self.exc_type is KeyError else msg)
        except Exception:  # noqa: BLE001  (the exception's type needs other arguments)
            raise RuntimeError(msg) from None
        raise exception
