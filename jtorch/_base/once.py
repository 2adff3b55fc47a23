"""Functions that must run once in a process, although several threads call them for the first time at once."""
from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")


def once(fn: Callable[[], R]) -> Callable[[], R]:
    """``functools.cache`` of a function without arguments that is not safe to run twice. Other threads wait for its result."""
    lock = threading.RLock()
    made: list[R] = []

    @functools.cache
    def call() -> R:
        with lock:
            if not made:
                made.append(fn())
        return made[0]
    return functools.update_wrapper(call, fn)
