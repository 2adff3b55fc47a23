"""Choose the cases of a table for the fast lane."""
from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def cases(table: Iterable[Any], fast: Collection[Any]) -> list[Any]:
    """Return the cases of a table for ``parametrize``. Cases outside ``fast`` are slow."""
    return [case if case in fast else pytest.param(case, marks=pytest.mark.slow) for case in table]
