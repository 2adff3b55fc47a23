"""torch._guards: what PyTorch's compiler knows about the program that it traces. Nothing is traced here."""
from __future__ import annotations

import contextlib
from typing import Any


def active_fake_mode() -> None:
    """None: no tensor is without data because of a mode."""


def detect_fake_mode(inputs: Any = None) -> None:
    """None: there are no fake tensors."""


class TracingContext:
    """What is traced now: nothing."""

    @staticmethod
    def try_get() -> None:
        """None: nothing is traced."""

    @staticmethod
    def get() -> Any:
        """RuntimeError, as in PyTorch where nothing is traced."""
        raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")


class CompileContext(TracingContext):
    """What is compiled now: nothing."""

    @staticmethod
    def current_compile_id() -> None:
        """None: nothing is being compiled."""


def tracing(context: Any) -> Any:
    """Return a block in which nothing is traced."""
    return contextlib.nullcontext(context)
