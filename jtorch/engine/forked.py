"""Processes without XLA: forked ones, which lack XLA's threads, and those for which starting XLA takes too long.

A process that is forked after XLA has started computes on the host with NumPy. A call that needs XLA raises in that process.
The parent runs its held-back calls before each fork, so that all values are computed.
"""
from __future__ import annotations

import math
import os
import sys
from typing import Any

from jtorch._base import jax_private


def stay_on_host() -> None:
    """Hold back no call from now on, and compile nothing that can run on the host."""
    modules: Any = sys.modules      # Some modules are hidden by functions of the same name in the package.
    modules["jtorch.engine.cost"].COMPILING_PROGRAM = math.inf
    for name in ("trace", "trie", "schedule"):
        modules[f"jtorch.engine.{name}"].ENGINE_MODE = "eager"
    modules["jtorch.engine.trace"].forget()


def _before() -> None:
    trace = sys.modules["jtorch.engine.trace"]
    trace.end(natural=False)
    trace.wait.for_latest()


def _in_child() -> None:
    if _xla_was_started():
        stay_on_host()
        sys.modules["jtorch.engine.kernel"].XLA_IS_GONE = True      # type: ignore[attr-defined]


def _xla_was_started() -> bool:
    return jax_private.backends_are_initialized() is not False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_in_child)
