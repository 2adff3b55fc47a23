"""torch.multiprocessing: Python's multiprocessing with PyTorch's additional names.

Tensors that are sent to a process or put on a queue become shared memory (``_api/shared_memory.py``). Start processes
with ``spawn``, since JAX's threads do not survive a fork.
"""
from __future__ import annotations

import contextlib
import ctypes
import multiprocessing as _multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing import connection as _connection
from typing import Any

from jtorch._base import warned

__all__ = [*_multiprocessing.__all__, "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
           "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn",
           "start_processes"]
_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Store the strategy's name, which has no effect. See torch.multiprocessing.set_sharing_strategy."""
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {_STRATEGIES}")
    _strategy = new_strategy


def get_sharing_strategy() -> str:
    """Return the strategy that was set last. See torch.multiprocessing.get_sharing_strategy."""
    return _strategy


def get_all_sharing_strategies() -> set[str]:
    """Return the accepted names. See torch.multiprocessing.get_all_sharing_strategies."""
    return _STRATEGIES


# ---------------------------------------------------------------- errors


class ProcessException(Exception):
    """The error for a failed process. ``error_index`` is its index among the processes started together."""

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The error for a process that raised an exception; the message has the traceback."""


class ProcessExitedException(ProcessException):
    """The error for a process that ended with a signal or a nonzero exit code."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


# ---------------------------------------------------------------- starting


def spawn(fn: Callable, args: tuple = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
          start_method: str = "spawn") -> Any:
    """Run ``fn(i, *args)`` in ``nprocs`` new processes, and wait for them. See torch.multiprocessing.spawn.

    If one process fails, the others are ended and its exception is raised. Without ``join`` the function returns a
    ``ProcessContext``.
    """
    if start_method != "spawn":
        warned.warn(f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method use:"
                    "\n\t\t torch.multiprocessing.start_processes(...)", FutureWarning)
    return start_processes(fn, args, nprocs, join, daemon)


def start_processes(fn: Callable, args: tuple = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
                    start_method: str = "spawn") -> Any:
    """Run ``spawn`` with a given start method. See torch.multiprocessing.start_processes."""
    context: Any = _multiprocessing.get_context(start_method)
    folder = tempfile.mkdtemp(prefix="jtorch-errors-")
    processes, files = [], []
    for i in range(nprocs):
        files.append(os.path.join(folder, str(i)))
        processes.append(context.Process(target=_run, args=(fn, i, args, files[-1]), daemon=daemon))
        processes[-1].start()
    started = ProcessContext(processes, files)
    weakref.finalize(started, shutil.rmtree, folder, ignore_errors=True)
    while join and not started.join():
        pass
    return None if join else started


def _run(fn: Callable, i: int, args: tuple, error_file: str) -> None:
    """Run ``fn`` in a process. An exception is written to a file, since pipes to the parent may be blocked."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)       # The process ends when its parent ends.
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass        # The parent interrupted this process.
    except Exception:  # noqa: BLE001 (raised in the parent)
        with open(error_file, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(traceback.format_exc())
        sys.exit(1)


_PR_SET_PDEATHSIG = 1
_PATIENCE = 30      # Seconds to wait for a process to end before killing it. A larger value delays the parent's error.


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: list, error_files: list[str]):
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Return the process ids."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends, and return whether all have ended.

        See torch.multiprocessing.spawn.ProcessContext.join.

        If a process has failed, the others are ended (after ``grace_period`` seconds, if given), and its exception is
        raised.
        """
        for sentinel in _connection.wait(list(self.sentinels), timeout) if self.sentinels else []:
            index = self.sentinels.pop(sentinel)        # type: ignore[call-overload]
            self.processes[index].join()
            if self.processes[index].exitcode:
                self._end_all(grace_period)
                raise self._failure(index)
        return not self.sentinels

    def _end_all(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._join_all(grace_period)
        for process in self.processes:
            process.terminate()
        self._join_all(_PATIENCE if grace_period is None else grace_period)
        for process in self.processes:
            process.kill()
            process.join()

    def _join_all(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0, end - time.monotonic()))

    def _failure(self, index: int) -> ProcessException:
        process, file = self.processes[index], self.error_files[index]
        if os.path.exists(file):
            with open(file, encoding="utf-8") as opened:
                text = opened.read()
            message = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            return ProcessRaisedException(message, index, process.pid)
        code = process.exitcode
        if code > 0:
            return ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)
        name = next((s.name for s in signal.Signals if s == -code), f"<Unknown signal {-code}>")
        return ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """ProcessContext under its old name."""

    def __init__(self, processes: list, error_files: list[str]):
        warned.warn("SpawnContext is renamed to ProcessContext since 1.4 release.")
        super().__init__(processes, error_files)


def _set_thread_name(name: str) -> None:
    """Do nothing: ``threading`` names Python's threads."""


def _get_thread_name() -> str:
    """Return the thread's name in ``threading``."""
    return threading.current_thread().name
