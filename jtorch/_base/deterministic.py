"""The setting for deterministic algorithms. All algorithms are deterministic; the setting only fills new memory."""
from __future__ import annotations

from typing import Any

import numpy as np

from jtorch._base.dtype_info import iinfo
from jtorch.dtype import dtype


class Deterministic:
    """The settings of ``torch.use_deterministic_algorithms`` and ``torch.utils.deterministic``."""

    on = False
    warn_only = False
    fills = True        # fill the memory of ``torch.empty`` while ``on`` is set


def choose(on: bool, warn_only: bool) -> None:
    """Set whether deterministic algorithms are requested, and whether others only warn."""
    Deterministic.on, Deterministic.warn_only = on, warn_only


def set_fills(mode: Any) -> None:
    """Set whether new memory is filled in deterministic mode."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
    Deterministic.fills = mode


def number_for_new_memory(d: dtype) -> Any:
    """Return the number to fill new memory with (nan, the largest integer or True); None if memory is not filled."""
    if not (Deterministic.on and Deterministic.fills):
        return None
    if d.is_floating_point or d.is_complex:
        return np.nan
    return True if d.np == np.bool_ else iinfo(d).max
