"""Whether a program has asked for deterministic algorithms: all are, but it then sees in new memory what it does in PyTorch."""
from __future__ import annotations

from typing import Any

import numpy as np

from jtorch._base.dtype_info import iinfo
from jtorch.dtype import dtype


class Deterministic:
    """What was asked for with ``torch.use_deterministic_algorithms``, and ``torch.utils.deterministic``."""

    on = False
    warn_only = False
    fills = True        # memory that ``torch.empty`` and its like give is filled then


def choose(on: bool, warn_only: bool) -> None:
    """Says what was asked for."""
    Deterministic.on, Deterministic.warn_only = on, warn_only


def set_fills(mode: Any) -> None:
    """Chooses whether new memory is filled."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
    Deterministic.fills = mode


def number_for_new_memory(d: dtype) -> Any:
    """What new memory is filled with: a number that shows up; None where it is left as it is."""
    if not (Deterministic.on and Deterministic.fills):
        return None
    if d.is_floating_point or d.is_complex:
        return np.nan
    return True if d.np == np.bool_ else iinfo(d).max
