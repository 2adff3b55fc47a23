"""Warnings that show the user's line, however deep in the package they arise; and those that PyTorch gives once in a process."""
from __future__ import annotations

import warnings

from jtorch._base import caller


class Once:
    """What was warned of."""

    always = False
    given: set[str] = set()


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """A warning of the line of the user's that led here."""
    warnings.warn(message, category, stacklevel=caller.level())


def warn_once(message: str) -> None:
    """A UserWarning, the first time, or each time if ``torch.set_warn_always`` says so."""
    if Once.always or message not in Once.given:
        Once.given.add(message)
        warn(message)
