"""Assertions of the checks, with the expected and the found value in their errors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any


def equal(found: Any, wanted: Any) -> None:
    """Raise AssertionError with both values if they differ."""
    if found != wanted:
        raise AssertionError(f"{found!r}, where PyTorch gives {wanted!r}")


def true(condition: Any, what: str) -> None:
    """Raise AssertionError with the expectation if the condition is false."""
    if not condition:
        raise AssertionError(f"not so: {what}")


def raises(kind: type[Exception], beginning: str, run: Callable[[], Any]) -> None:
    """Raise AssertionError unless ``run`` raises an error of this kind with this beginning of its text."""
    try:
        run()
    except kind as error:
        if not str(error).startswith(beginning):
            raise AssertionError(f"{error}, where PyTorch says: {beginning}") from error
    else:
        raise AssertionError(f"no error, where PyTorch says: {beginning}")
