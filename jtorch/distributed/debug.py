"""The debug level of a job, ``TORCH_DISTRIBUTED_DEBUG``. See torch.distributed.DebugLevel.

The ranks compare all calls at any level, so the level changes only what DistributedDataParallel logs.
"""
from __future__ import annotations

import os
from enum import Enum

DebugLevel = Enum("DebugLevel", {"OFF": 0, "INFO": 1, "DETAIL": 2}, module=__name__)
_level = {"now": DebugLevel.OFF}


def get_debug_level() -> DebugLevel:
    """Return the debug level."""
    return _level["now"]


def set_debug_level(level: DebugLevel) -> None:
    """Set the debug level."""
    if not isinstance(level, DebugLevel):
        raise TypeError("set_debug_level(): incompatible function arguments. The following argument types are supported:\n"
                        f"    1. (arg0: torch._C._distributed_c10d.DebugLevel) -> None\n\nInvoked with: {level!r}")
    _level["now"] = level


def set_debug_level_from_env() -> None:
    """Set the debug level that ``TORCH_DISTRIBUTED_DEBUG`` names; ``OFF`` if the variable is not set."""
    named = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if named not in DebugLevel.__members__:
        raise ValueError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    _level["now"] = DebugLevel[named]


if os.environ.get("TORCH_DISTRIBUTED_DEBUG"):
    set_debug_level_from_env()
