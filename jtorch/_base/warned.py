"""Warnings that PyTorch gives once in a process, or each time if ``torch.set_warn_always`` says so."""
from __future__ import annotations

import warnings


class Once:
    """What was warned of."""

    always = False
    given: set[str] = set()


def warn_once(message: str, stacklevel: int = 2) -> None:
    """UserWarning, the first time."""
    if Once.always or message not in Once.given:
        Once.given.add(message)
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)
