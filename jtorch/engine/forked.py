"""Processes without XLA: forked ones, in which its threads are missing, and those for which starting it takes too long.

A forked process computes on the host with NumPy. Its parent runs what it holds back before the fork, so that no value is left
half-way; what only XLA can do raises.
"""
from __future__ import annotations

import math
import os
import sys
from typing import Any


def stay_on_host() -> None:
    """From now on no call is held back, and nothing is compiled that has a host rule."""
    modules: Any = sys.modules      # functions of the package hide some of them
    modules["jtorch.engine.kernel"].COMPILE_SECONDS = math.inf
    modules["jtorch.engine.record"].ENGINE_MODE = modules["jtorch.engine.heat"].ENGINE_MODE = "eager"
    modules["jtorch.engine.record"].forget()


def _before() -> None:
    record = sys.modules["jtorch.engine.record"]
    record.end(natural=False)
    record.wait.for_latest()


def _in_child() -> None:
    if _xla_was_started():
        stay_on_host()
        sys.modules["jtorch.engine.kernel"].XLA_IS_GONE = True      # type: ignore[attr-defined]


def _xla_was_started() -> bool:
    asked = getattr(sys.modules.get("jax._src.xla_bridge"), "backends_are_initialized", None)
    return asked is None or asked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_in_child)
