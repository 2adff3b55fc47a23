"""Run programs one after another, each in a process of its own with a time limit.

A crash or a hang is a line of the report, and each program finds the GPU's memory free.
"""
from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tools.gpu.line import FAILED, LATE, PASSED, Line, last_words
from tools.gpu.stand_in import ENVIRONMENT

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Ended:
    """The end of a program. ``code`` is None after a time-out."""

    code: int | None
    out: str
    error: str
    seconds: float

    @property
    def status(self) -> str:
        """Return the word for the report."""
        return LATE if self.code is None else FAILED if self.code else PASSED

    def line(self, part: str, name: str) -> Line:
        """Return the line of the report, with the reason of a failure."""
        detail = "" if self.code == 0 else last_words(self.error) or last_words(self.out)
        return Line(part, name, self.status, self.seconds, detail)


def environment(tiny: bool) -> dict[str, str]:
    """Return the environment of the programs.

    PyTorch and JAX share the GPU, so JAX allocates memory on demand. There is no cache of programs: it would hide first steps.
    """
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    found = {**os.environ, "PYTHONPATH": path, "JTORCH_CACHE": "0", "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
             "TF_CPP_MIN_LOG_LEVEL": "2"}
    return found | ENVIRONMENT if tiny else found


def run(arguments: list[str], limit: float, tiny: bool, folder: Path = ROOT) -> Ended:
    """Run Python with these arguments, for ``limit`` seconds at most."""
    start = time.monotonic()
    with subprocess.Popen([sys.executable, *arguments], cwd=folder, env=environment(tiny), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            out, error = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            _end(process)
            out, error = process.communicate()
            return Ended(None, out, f"stopped after {limit:.0f} s", time.monotonic() - start)
        except BaseException:
            _end(process)
            raise
    return Ended(process.returncode, out, error, time.monotonic() - start)


def _end(process: subprocess.Popen) -> None:
    """End a process with all processes it has started. They share its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
