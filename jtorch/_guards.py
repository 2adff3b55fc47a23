"""torch._guards: the state of PyTorch's compiler while it traces. jtorch never traces, so there is none."""
from __future__ import annotations

import contextlib
from typing import Any


def active_fake_mode() -> None:
    """Return None: no mode makes fake tensors."""


def detect_fake_mode(inputs: Any = None) -> None:
    """Return None: there are no fake tensors."""


class TracingContext:
    """The context of the current trace. There is none."""

    @staticmethod
    def try_get() -> None:
        """Return None: nothing is traced."""

    @staticmethod
    def get() -> Any:
        """Raise RuntimeError, as PyTorch does outside a trace."""
        raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")


class CompileContext(TracingContext):
    """The context of the current compilation. There is none."""

    @staticmethod
    def current_compile_id() -> None:
        """Return None: nothing is compiled."""


def tracing(context: Any) -> Any:
    """Return a context manager that does nothing."""
    return contextlib.nullcontext(context)
