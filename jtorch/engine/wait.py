"""Wait for compiled code on the CPU. One program at a time runs while Python records the next calls."""
from __future__ import annotations

import contextlib
import functools
import os
import weakref
from time import perf_counter
from typing import Any

import jax
import numpy as np

from jtorch.engine import policy

_let_others_run = getattr(os, "sched_yield", lambda: None)       # XLA's threads may share this thread's core.


class _Latest:
    """One result of the last started program. The reference is weak, because a held array could not be donated."""

    __slots__ = ("quick", "result")

    def __init__(self):
        self.result: Any = None
        self.quick = True       # True if the last wait was short.


_latest = _Latest()


def note(result: Any) -> None:
    """Remember that the program of ``result`` has started."""
    _latest.result = weakref.ref(result)


def for_latest() -> None:
    """Wait for the last started program. Each start calls this first, so that memory does not fill with waiting programs."""
    latest = _latest.result
    if latest is None:
        return
    _latest.result, result = None, latest()
    if result is None or result.is_deleted():
        return
    try:
        until_ready(result)
    except RuntimeError:
        if not result.is_deleted():     # Another thread's program may have donated the array.
            raise


NOTHING: Any = contextlib.nullcontext()


class _FirstRuns:
    surround: Any = staticmethod(contextlib.nullcontext)


def surround_first_runs(make: Any) -> None:
    """Set a function that makes the context of each program's first run on a mesh. See ``job``."""
    _FirstRuns.surround = staticmethod(make)


def first_run() -> Any:
    """Return the context of a program's first run on a mesh."""
    return _FirstRuns.surround()


def for_all(results: Any) -> None:
    """Wait for the results of a program on virtual CPUs before another program starts.

    XLA has as many threads as virtual devices, for all programs together. If another program has one of the threads, the devices
    of this program wait for each other in a collective without end, and XLA ends the process.
    """
    jax.block_until_ready(results)


def until_ready(array: Any) -> None:
    """Wait for a JAX array. If the last wait was short, stay awake for up to ``policy.QUICK`` seconds first.

    A thread that sleeps wakes up late, which matters for small steps. A thread that stays awake takes a core from large kernels.
    """
    if array.is_ready():
        return
    deadline = perf_counter() + policy.QUICK
    if _latest.quick:
        while not array.is_ready() and perf_counter() < deadline:
            _let_others_run()
    array.block_until_ready()
    _latest.quick = perf_counter() < deadline


def host(array: Any) -> np.ndarray:
    """Wait for a JAX array, and return it as a NumPy array."""
    until_ready(array)
    return np.asarray(array)


def is_split_over_processes(array: Any) -> bool:
    """Return whether this process has only a part of a JAX array."""
    return isinstance(array, jax.Array) and not array.is_fully_addressable and not array.is_fully_replicated


def gathered(array: Any) -> np.ndarray:
    """Return an array as a NumPy array. If it is split over processes, all of them must call this."""
    if is_split_over_processes(array):
        with jax.enable_x64(True), first_run():
            array = jax.block_until_ready(_replicate(array.sharding.mesh)(array))      # type: ignore[attr-defined]
    return np.asarray(array)


@functools.lru_cache(64)
def _replicate(mesh: jax.sharding.Mesh) -> Any:
    return jax.jit(lambda x: x, out_shardings=jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec()))
