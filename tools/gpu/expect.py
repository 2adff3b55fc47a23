"""What checks say when something is not as PyTorch documents it."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any


def equal(found: Any, wanted: Any) -> None:
    """AssertionError with both if they differ."""
    if found != wanted:
        raise AssertionError(f"{found!r}, where PyTorch gives {wanted!r}")


def true(condition: Any, what: str) -> None:
    """AssertionError with what was wanted if it is not so."""
    if not condition:
        raise AssertionError(f"not so: {what}")


def raises(kind: type[Exception], beginning: str, run: Callable[[], Any]) -> None:
    """AssertionError unless ``run`` raises such an error, whose text begins so."""
    try:
        run()
    except kind as error:
        if not str(error).startswith(beginning):
            raise AssertionError(f"{error}, where PyTorch says: {beginning}") from error
    else:
        raise AssertionError(f"no error, where PyTorch says: {beginning}")
