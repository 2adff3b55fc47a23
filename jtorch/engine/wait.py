"""Waiting for compiled code on the CPU. A program runs while the calls behind it are recorded, but no more than one at a time."""
from __future__ import annotations

import os
import weakref
from time import perf_counter
from typing import Any

import jax
import numpy as np

QUICK = 2.5e-4      # seconds
_let_others_run = getattr(os, "sched_yield", lambda: None)       # XLA's threads may have been put on this one's core


class _Latest:
    """The program begun last: one of its results, held weakly, since whoever holds an array keeps it from being donated."""

    __slots__ = ("quick", "result")

    def __init__(self):
        self.result: Any = None
        self.quick = True       # whether what was waited for last was there soon


_latest = _Latest()


def note(result: Any) -> None:
    """Notes that the program that gives ``result`` has begun."""
    _latest.result = weakref.ref(result)


def for_latest() -> None:
    """Waits for the program begun last. Whoever starts another calls this first, or memory would fill with what is to come."""
    latest = _latest.result
    if latest is None:
        return
    _latest.result, result = None, latest()
    if result is None or result.is_deleted():
        return
    try:
        until_ready(result)
    except RuntimeError:
        if not result.is_deleted():     # by another thread, whose program overwrites it
            raise


def for_all(results: Any) -> None:
    """Waits for what a program on virtual CPUs gives, before anything else is begun.

    XLA has as many threads for all programs as there are such devices. Where another has one of them, a program whose devices
    meet in a collective waits for ever, and XLA ends the process.
    """
    jax.block_until_ready(results)


def until_ready(array: Any) -> None:
    """Waits for a JAX array: awake where it is expected soon, for ``QUICK`` at most.

    A thread that sleeps wakes up late, on a core that has gone cold: that was a third of a small training step. But a thread
    that keeps asking takes a core from large kernels.
    """
    if array.is_ready():
        return
    deadline = perf_counter() + QUICK
    if _latest.quick:
        while not array.is_ready() and perf_counter() < deadline:
            _let_others_run()
    array.block_until_ready()
    _latest.quick = perf_counter() < deadline


def host(array: Any) -> np.ndarray:
    """A JAX array as NumPy's, once it is there."""
    until_ready(array)
    return np.asarray(array)
