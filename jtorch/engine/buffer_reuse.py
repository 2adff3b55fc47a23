"""Decide whether a call may write into the array of its first argument, because nobody else holds it."""
from __future__ import annotations

from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy as np

from jtorch.engine import policy
from jtorch.engine.values import Value

NOWHERE = 1 << 62       # A ``kept`` for ``is_spare`` that is larger than all slots: no trace's list holds the call's values.
LEAST = policy.LARGE     # Elements. A smaller array is copied, because the check would take as long.


def is_spare(kernel: Any, args, kept: int) -> bool:
    """Return whether a call may write into the array of its first argument.

    Only the storage may hold the value, and only the value may hold the array. If the value came into the trace with this call
    (its slot is ``kept`` or later), the trace's list holds it as well.
    """
    if kernel.on_host is None or kernel.on_host.over is None:
        return False
    is_new = args[0].slot >= kept
    return getrefcount(args[0]) <= _SPARE + is_new and getrefcount(args[0].array) <= _SPARE_ARRAY and is_own(args[0].array)


def is_own(array: Any) -> bool:
    """Return whether an array owns its memory, is contiguous and writable, and has at least ``LEAST`` elements."""
    if array.__class__ is not np.ndarray or array.size < LEAST or array.base is not None \
            or getweakrefcount(array):      # Whoever refers to the array weakly may rely on its contents.
        return False
    flags = array.flags
    return flags.c_contiguous and flags.writeable


def _counts_of_spare() -> tuple[int, int]:
    """Return the reference counts of a value that a storage and a list hold, and of its array. They differ between Pythons."""
    held = Value(None, object())       # type: ignore[arg-type]
    args = [held]
    return getrefcount(args[0]), getrefcount(args[0].array)


_SPARE, _SPARE_ARRAY = _counts_of_spare()
