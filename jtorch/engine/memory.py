"""Freed memory that glibc keeps, and the limit of the address space."""
from __future__ import annotations

import contextlib
import ctypes
import functools
import time
from typing import Any

from jtorch.engine import policy

try:
    import resource
except ImportError:     # Windows
    resource = None     # type: ignore[assignment]

_trimmed = 0.0
_pause = 1.0        # Seconds until memory may be trimmed again.


def trim() -> None:
    """Make glibc, if the process uses it, return free memory to the system. This takes some milliseconds."""
    global _trimmed, _pause
    found = _malloc_trim()
    start = time.monotonic()
    if found is not None:
        found(0)
    _trimmed = time.monotonic()
    _pause = max(1.0, (_trimmed - start) / policy.TRIMMING)


def trim_now_and_then() -> None:
    """Call ``trim`` at most once a second, and less often if it takes long."""
    if time.monotonic() - _trimmed > _pause:
        trim()


def trim_behind(seconds: float) -> None:
    """Return free memory to the system after a compilation of this many seconds. Long compilations leave more."""
    if seconds > policy.FOREGROUND:
        trim()
    else:
        trim_now_and_then()


def is_short() -> bool:
    """Return whether the limit of the address space (RLIMIT_AS) leaves too little to compile. XLA would end the process."""
    if resource is None or (limit := resource.getrlimit(resource.RLIMIT_AS)[0]) == resource.RLIM_INFINITY:
        return False
    with contextlib.suppress(OSError, ValueError), open("/proc/self/statm") as f:
        return int(f.read().split()[0]) * resource.getpagesize() > limit - policy.ROOM
    return False


@functools.cache
def _malloc_trim() -> Any:
    try:
        return getattr(ctypes.CDLL(None), "malloc_trim", None)
    except (OSError, TypeError):        # The system has no such library, or needs a name for it.
        return None
