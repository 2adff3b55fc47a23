"""torch._VF: the functions of ``torch`` without PyTorch's Python wrappers."""
from __future__ import annotations

from typing import Any

from jtorch._api import functions as _functions


def __getattr__(name: str) -> Any:
    return getattr(_functions, name)
