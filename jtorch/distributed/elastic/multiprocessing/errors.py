"""Errors of processes that a launcher started. See torch.distributed.elastic.multiprocessing.errors."""
from __future__ import annotations

import functools
import json
import os
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class ProcessFailure:
    """The failure of one process. See torch.distributed.elastic.multiprocessing.errors.ProcessFailure."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    message: str = ""
    timestamp: int = field(default_factory=lambda: int(time.time()))

    def __post_init__(self) -> None:
        if os.path.isfile(self.error_file):
            self.message = json.loads(Path(self.error_file).read_text())["message"]["message"]
        elif self.exitcode < 0:
            self.message = f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
        else:
            self.message = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"

    def signal_name(self) -> str:
        """Return the name of the signal that ended the process, or ``<N/A>``."""
        return signal.Signals(-self.exitcode).name if self.exitcode < 0 else "<N/A>"


class ChildFailedError(Exception):
    """Raised when a rank has failed. See torch.distributed.elastic.multiprocessing.errors.ChildFailedError."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]):
        self.name, self.failures = name, failures
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """Return the rank and the failure that came first."""
        rank = min(self.failures, key=lambda r: self.failures[r].timestamp)
        return rank, self.failures[rank]

    def format_msg(self, boarder_delim: str = "=", section_delim: str = "-") -> str:
        """Return a report of all failures, with the first as the root cause."""
        first, cause = self.get_first_failure()
        others = [self._told(r, f) for r, f in self.failures.items() if r != first]
        width = 60
        parts = [f"{self.name} FAILED", section_delim * width, "Failures:", *(others or ["  <NO_OTHER_FAILURES>"]),
                 section_delim * width, "Root Cause (first observed failure):", self._told(first, cause), boarder_delim * width]
        return "\n" + boarder_delim * width + "\n" + "\n".join(parts)

    @staticmethod
    def _told(rank: int, f: ProcessFailure) -> str:
        when = time.strftime("%Y-%m-%d_%H:%M:%S", time.localtime(f.timestamp))
        return (f"[0]:\n  time      : {when}\n  rank      : {rank} (local_rank: {f.local_rank})\n"
                f"  exitcode  : {f.exitcode} (pid: {f.pid})\n  error_file: {f.error_file or '<N/A>'}\n  traceback : {f.message}")


def record(fn: Callable, error_handler: Any = None) -> Callable:
    """Wrap a program's main function, so that the launcher is told the exception that ``fn`` raises."""
    @functools.wraps(fn)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            file = os.environ.get("TORCHELASTIC_ERROR_FILE")
            if file:
                said = {"message": f"{type(error).__name__}: {error}", "extraInfo": {"py_callstack": traceback.format_exc(),
                                                                                    "timestamp": str(int(time.time()))}}
                Path(file).write_text(json.dumps({"message": said}))
            raise
    return recorded
