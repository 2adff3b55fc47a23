"""Memory that has been freed, and that glibc would keep for later."""
from __future__ import annotations

import contextlib
import ctypes
import functools
import time
from typing import Any

try:
    import resource
except ImportError:     # Windows
    resource = None     # type: ignore[assignment]

SHARE = 0.001       # of the time that trimming may take; to map the same memory anew takes ten times as long and more
SOME, MUCH = 0.1, 0.5       # seconds of compiling that leave so much
_trimmed = 0.0
_pause = 1.0        # seconds until the next time


def trim() -> None:
    """Makes glibc, where there is one, return free memory: 150 MiB after a transformer's program. It takes 1 to 30 ms."""
    global _trimmed, _pause
    found = _malloc_trim()
    start = time.monotonic()
    if found is not None:
        found(0)
    _trimmed = time.monotonic()
    _pause = max(1.0, (_trimmed - start) / SHARE)


def trim_now_and_then() -> None:
    """``trim``, once a second at most, and rarer where it takes long."""
    if time.monotonic() - _trimmed > _pause:
        trim()


def trim_behind(seconds: float) -> None:
    """Returns what a compilation that took so long has left: the peak of a U-Net is 35 MiB lower where that waits for nothing."""
    if seconds > MUCH:
        trim()
    elif seconds > SOME:
        trim_now_and_then()


ROOM = 512 << 20    # bytes of address space that XLA may need to compile


def is_short() -> bool:
    """Whether the limit of the address space (RLIMIT_AS) leaves too little to compile, where XLA would end the process."""
    if resource is None or (limit := resource.getrlimit(resource.RLIMIT_AS)[0]) == resource.RLIM_INFINITY:
        return False
    with contextlib.suppress(OSError, ValueError), open("/proc/self/statm") as f:
        return int(f.read().split()[0]) * resource.getpagesize() > limit - ROOM
    return False


@functools.cache
def _malloc_trim() -> Any:
    try:
        return getattr(ctypes.CDLL(None), "malloc_trim", None)
    except (OSError, TypeError):        # no such library, or a system that wants a name
        return None
