"""Keep, return and measure the memory of the process: temporaries of compiled code, freed memory, the address space.

## Temporaries

XLA allocates temporaries at the start of each run, and frees them at the end. glibc maps large blocks (over 32 MB) anew each
time, and the system clears each page at its first use. That takes a large share of a step's time:

|                                     | temporaries | page faults    | system time     |
|-------------------------------------|-------------|----------------|-----------------|
| GPT of 4 layers, 12x64 tokens       | 39 MB       | 9,700, kept 0  | 19 ms, kept 0.9 |
| ResNet-18 for 32x32, batch 16       | 166 MB      | 43,000, kept 90| 112 ms, kept 7  |

(One step on 2 busy Intel cores; "kept" is with this module.)

malloc's limits hold for the whole process. So the module raises them only as far as the compiled code in use needs, at most to
``policy.MAX_KEPT``, and lowers them when that code is gone. Threads other than the first have heaps of their own, and each would
keep such memory. So a program of much memory runs in the calling thread (``policy.MUCH_MEMORY``).

``JTORCH_KEEP_TEMPORARIES=0`` leaves malloc as it is. So do environment variables that set glibc's malloc.
"""
from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
import time
import weakref
from typing import Any

from jtorch._base.config import KEEP_TEMPORARIES
from jtorch.engine import policy, stats

try:
    import resource
except ImportError:     # Windows
    resource = None     # type: ignore[assignment]

MAPPED = 32 << 20       # Bytes that glibc keeps by itself: its own upper limit for the threshold of mapped blocks.

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3       # Constants of <malloc.h>.
_in_use: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()      # Bytes that each program or plan needs.
_LOCK = threading.RLock()       # Several threads compile, and change ``_in_use``.
_kept = 0               # Bytes that malloc keeps now.
_trimmed = 0.0          # The time of the last trim.
_pause = 1.0            # Seconds until memory may be trimmed again.


def keep_those_of(compiled: Any) -> None:
    """Let malloc keep the temporary memory of ``compiled``, a program on the CPU, as long as the program exists."""
    keep(compiled, _needed(compiled))


def keep(of: Any, needed: int) -> None:
    """Let malloc keep ``needed`` bytes as long as ``of`` exists: a program, or a plan whose programs hand values on."""
    with _LOCK:
        if MAPPED // 2 < needed <= policy.MAX_KEPT and _may_be_set():
            _in_use[of] = needed
        _tell(max(_in_use.values(), default=0))


def _needed(compiled: Any) -> int:
    found = compiled.memory_analysis()
    return found.temp_size_in_bytes if found is not None else 0


def _tell(needed: int) -> None:
    """Set malloc's limits if they have changed.

    The first limit is the size from which on a block is mapped. Free memory at the heap's end beyond the second limit goes back
    to the system.
    """
    global _kept
    if needed == _kept:
        return
    _kept = needed
    stats.counters.kept_temporaries += 1
    room = max(needed, MAPPED)
    mallopt = _mallopt()
    mallopt(_MMAP_THRESHOLD, room + (1 << 20))
    mallopt(_TRIM_THRESHOLD, 2 * room)


@functools.cache
def _may_be_set() -> bool:
    given = [name for name in os.environ if name.startswith("MALLOC_")]
    tuned = "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "")
    return KEEP_TEMPORARIES and not given and not tuned and _mallopt() is not None


@functools.cache
def _mallopt() -> Any:
    try:
        process = ctypes.CDLL(None)
        return process.mallopt if hasattr(process, "gnu_get_libc_version") else None
    except (AttributeError, OSError, TypeError):
        return None


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
    """Return free memory to the system after a compilation of this many seconds: always after a long one, which leaves more."""
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
    except (OSError, TypeError):        # The system has no C library, or ``CDLL`` needs its name.
        return None
