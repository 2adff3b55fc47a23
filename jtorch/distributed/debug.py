"""How much a job is watched: ``TORCH_DISTRIBUTED_DEBUG``. See torch.distributed.DebugLevel.

All calls are compared between ranks at any level, so the level changes no more than what DistributedDataParallel says.
"""
from __future__ import annotations

import os
from enum import Enum

DebugLevel = Enum("DebugLevel", {"OFF": 0, "INFO": 1, "DETAIL": 2}, module=__name__)
_level = {"now": DebugLevel.OFF}


def get_debug_level() -> DebugLevel:
    """The level."""
    return _level["now"]


def set_debug_level(level: DebugLevel) -> None:
    """Sets the level."""
    if not isinstance(level, DebugLevel):
        raise TypeError("set_debug_level(): incompatible function arguments. The following argument types are supported:\n"
                        f"    1. (arg0: torch._C._distributed_c10d.DebugLevel) -> None\n\nInvoked with: {level!r}")
    _level["now"] = level


def set_debug_level_from_env() -> None:
    """Sets the level that ``TORCH_DISTRIBUTED_DEBUG`` names; ``OFF`` where it names none."""
    named = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if named not in DebugLevel.__members__:
        raise ValueError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    _level["now"] = DebugLevel[named]


if os.environ.get("TORCH_DISTRIBUTED_DEBUG"):
    set_debug_level_from_env()
