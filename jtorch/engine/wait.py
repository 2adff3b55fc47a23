"""Waiting for the results of compiled code on the CPU, as PyTorch's calls do: when a call returns, its work is done."""
from __future__ import annotations

from time import perf_counter
from typing import Any

QUICK = 2.5e-4      # seconds


def wait(array: Any, quick: bool) -> bool:
    """Waits for a JAX array and says whether it was there soon. ``quick``: it is expected soon, so it is asked for over and over.

    A thread that sleeps wakes up late, on a core that has gone cold: that was a third of a small training step.
    """
    deadline = perf_counter() + QUICK
    if quick:
        while not array.is_ready() and perf_counter() < deadline:
            pass
    array.block_until_ready()
    return perf_counter() < deadline
