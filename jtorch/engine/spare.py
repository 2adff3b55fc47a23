"""Whether a call may write into the array of its first argument, since nobody else holds it."""
from __future__ import annotations

from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy as np

from jtorch.engine import policy
from jtorch.engine.values import Value

NOWHERE = 1 << 62       # behind all slots: of a call whose values no trace's list holds


def is_spare(kernel: Any, args, kept: int) -> bool:
    """Whether a call may write into the array of its first argument: only its storage holds the value, and only that the array.

    Of a value that has come into the trace with this call, behind ``kept``, the trace's list holds it as well.
    """
    if kernel.on_host is None or kernel.on_host.over is None:
        return False
    is_new = args[0].slot >= kept
    return getrefcount(args[0]) <= _SPARE + is_new and getrefcount(args[0].array) <= _SPARE_ARRAY and is_own(args[0].array)


def is_own(array: Any) -> bool:
    """Whether an array has its memory to itself, in order, and is worth writing into."""
    if array.__class__ is not np.ndarray or array.nbytes < policy.LEAST_OVERWRITTEN or array.base is not None \
            or getweakrefcount(array):      # as of what goes by its being what it was
        return False
    flags = array.flags
    return flags.c_contiguous and flags.writeable


def _counts_of_spare() -> tuple[int, int]:
    """What getrefcount says of a value that a storage and a list hold, and of the value's array; it differs between Pythons."""
    held = Value(None, object())       # type: ignore[arg-type]
    args = [held]
    return getrefcount(args[0]), getrefcount(args[0].array)


_SPARE, _SPARE_ARRAY = _counts_of_spare()
