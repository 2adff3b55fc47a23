"""Functions that run once in a process, even if several threads call them at the same time."""
from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")


def once(fn: Callable[[], R]) -> Callable[[], R]:
    """Cache the result of a function without arguments and run it only once. Other threads wait for the result."""
    lock = threading.RLock()
    made: list[R] = []

    @functools.cache
    def call() -> R:
        with lock:
            if not made:
                made.append(fn())
        return made[0]
    return functools.update_wrapper(call, fn)
