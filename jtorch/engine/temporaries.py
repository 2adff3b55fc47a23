"""The memory in which compiled code keeps what it computes on the way: kept between runs, where glibc's malloc gives it.

XLA asks malloc for it at each run and frees it behind. glibc maps what is larger than 32 MB anew each time, and the system clears
each page when it is first touched (2 cores, Intel, busy; each step):

|                                     | temporaries | page faults    | system time     |
|-------------------------------------|-------------|----------------|-----------------|
| GPT of 4 layers, 12x64 tokens       | 39 MB       | 9,700, kept 0  | 19 ms, kept 0.9 |
| ResNet-18 for 32x32, batch 16       | 166 MB      | 43,000, kept 90| 112 ms, kept 7  |

The limits of glibc's malloc are the whole process's, so they go as far as compiled code that is in use needs, no further than
``LARGEST``, and back when it is gone. Threads other than the first have heaps of 64 MB, each of which would keep such memory:
so a program of much memory runs in the thread that calls it (``policy.MUCH_MEMORY``).

``JTORCH_KEEP_TEMPORARIES=0`` leaves malloc alone; so does a user who has set glibc's malloc by the environment.
"""
from __future__ import annotations

import ctypes
import functools
import os
import threading
import weakref
from typing import Any

from jtorch._base.config import KEEP_TEMPORARIES
from jtorch.engine import stats

MAPPED = 32 << 20       # bytes: glibc keeps smaller ones by itself
LARGEST = 1 << 30       # bytes: what takes more is mapped as before

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3       # of <malloc.h>
_in_use: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_LOCK = threading.RLock()       # threads that compile at once would change ``_in_use`` while another goes through it
_kept = 0               # the largest that malloc has been told of


def keep_those_of(compiled: Any) -> None:
    """Has malloc keep the temporary memory of ``compiled``, a program on the CPU, as long as somebody may run it."""
    keep(compiled, _needed(compiled))


def keep(of: Any, needed: int) -> None:
    """Has malloc keep so many bytes as long as there is what needs them: a program, or a chain of some that hand them on."""
    with _LOCK:
        if MAPPED // 2 < needed <= LARGEST and _may_be_set():
            _in_use[of] = needed
        _tell(max(_in_use.values(), default=0))


def _needed(compiled: Any) -> int:
    found = compiled.memory_analysis()
    return found.temp_size_in_bytes if found is not None else 0


def _tell(needed: int) -> None:
    """Sets malloc's limits, where they have changed.

    The memory lies at the heap's end when it is free, and goes back to the system from there beyond the second limit.
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
