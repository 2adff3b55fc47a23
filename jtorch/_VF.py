"""torch._VF: the functions of ``torch``, without the wrappers that PyTorch has in Python."""
from __future__ import annotations

from typing import Any

from jtorch._api import functions as _functions


def __getattr__(name: str) -> Any:
    return getattr(_functions, name)
