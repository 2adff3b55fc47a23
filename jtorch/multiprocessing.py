"""torch.multiprocessing: Python's, with PyTorch's names beside it.

Tensors are sent as their data: what a process writes to one is not seen by another. Processes are best started with
``spawn``, since JAX's threads do not survive a fork.
"""
from __future__ import annotations

import multiprocessing as _multiprocessing
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from typing import Any

__all__ = [*_multiprocessing.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn"]
_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Keeps the name; tensors are copied in any case. See torch.multiprocessing.set_sharing_strategy."""
    global _strategy
    assert new_strategy in _STRATEGIES      # PyTorch's check, and its exception
    _strategy = new_strategy


def get_sharing_strategy() -> str:
    """What was set last. See torch.multiprocessing.get_sharing_strategy."""
    return _strategy


def get_all_sharing_strategies() -> set[str]:
    """The names that are accepted. See torch.multiprocessing.get_all_sharing_strategies."""
    return _STRATEGIES


def spawn(fn: Callable, args: tuple = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
          start_method: str = "spawn") -> Any:
    """Runs ``fn(i, *args)`` in ``nprocs`` processes; RuntimeError if one fails. See torch.multiprocessing.spawn."""
    context = _multiprocessing.get_context(start_method)
    processes = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]     # type: ignore[attr-defined]
    for process in processes:
        process.start()
    if not join:
        return processes
    for process in processes:
        process.join()
    failed = next((i for i, p in enumerate(processes) if p.exitcode), None)
    if failed is not None:
        raise RuntimeError(f"process {failed} terminated with exit code {processes[failed].exitcode}")
    return None
