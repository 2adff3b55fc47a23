"""torch._guards: queries about a trace of PyTorch's compiler; none is ever in progress in jtorch."""
from __future__ import annotations

import contextlib
from typing import Any


def active_fake_mode() -> None:
    """Return None: no mode makes tensors without data."""


def detect_fake_mode(inputs: Any = None) -> None:
    """Return None: there are no fake tensors."""


class TracingContext:
    """The context of the current trace, which is always absent."""

    @staticmethod
    def try_get() -> None:
        """Return None: no trace is in progress."""

    @staticmethod
    def get() -> Any:
        """Raise RuntimeError, as PyTorch does without a trace."""
        raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")


class CompileContext(TracingContext):
    """The context of the current compilation, which is always absent."""

    @staticmethod
    def current_compile_id() -> None:
        """Return None: no compilation is in progress."""


def tracing(context: Any) -> Any:
    """Return a block without effect."""
    return contextlib.nullcontext(context)
