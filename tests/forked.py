"""Programs and jobs that are forked from a process that has imported jtorch, which saves each of their processes the import.

``python tests/forked.py`` is that process. A line of JSON on stdin describes a program, and a line on stdout is its exit status.
"""
from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

# Prefixes of environment variables that Python or an import of jtorch reads, and a variable that no import reads.
READ_BY_IMPORTS = ("JTORCH_", "JAX_", "PYTHONWARNINGS")
READ_LATER = "JTORCH_CACHE"
CAN_FORK = sys.platform == "linux"


def run(arguments: list[str], environment: dict[str, str], timeout: float, ranks: int = 0) -> subprocess.CompletedProcess:
    """Run ``python -m jtorch`` with these arguments. If they start the launcher of a job, ``ranks`` is its number of ranks."""
    read = {name: value for name, value in environment.items() if name.startswith(READ_BY_IMPORTS) and name != READ_LATER}
    if ranks:
        read["OMP_NUM_THREADS"] = "1"       # NumPy reads it at import; the launcher of a job sets it for the ranks.
    with tempfile.TemporaryDirectory() as folder:
        outputs = [os.path.join(folder, name) for name in ("stdout", "stderr")]
        described = {"arguments": arguments, "ranks": ranks, "environment": environment, "folder": os.getcwd(), "outputs": outputs}
        status = _template(frozenset(read.items())).run(described, timeout)
        return subprocess.CompletedProcess(arguments, status, *(Path(path).read_text() for path in outputs))


class Template:
    """The process that has imported jtorch, as seen by the tests."""

    def __init__(self, environment: dict[str, str]):
        self._process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                         env=environment, start_new_session=True)
        atexit.register(self.kill)

    def run(self, described: dict[str, Any], timeout: float) -> int:
        """Run a program and return its exit status. A program that takes longer is killed with its template."""
        process = self._process
        process.stdin.write(json.dumps(described) + "\n")
        if not select.select([process.stdout], [], [], timeout)[0]:
            _template.cache_clear()
            self.kill()
            raise subprocess.TimeoutExpired(described["arguments"], timeout)
        return int(process.stdout.readline())

    def kill(self) -> None:
        """Kill the process and a program that still runs, as after Ctrl-C."""
        with self._process:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)


@functools.lru_cache(8)
def _template(read: frozenset[tuple[str, str]]) -> Template:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(READ_BY_IMPORTS)}
    return Template({**kept, **dict(read)})


def main() -> None:
    """Fork a process for each program on stdin."""
    before = set(os.environ)
    for module in ("jtorch.__main__", "jtorch.distributed.run"):
        importlib.import_module(module)
    set_by_imports = {name: value for name, value in os.environ.items() if name not in before}
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            described = json.loads(line)
            described["environment"] = {**set_by_imports, **described["environment"]}
            _run(described)
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _run(described: dict[str, Any]) -> None:
    """Become the program, after forking the ranks if it is a launcher."""
    for path, stream in zip((os.devnull, *described["outputs"]), (0, 1, 2), strict=True):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), stream)
    _set_environment(described["environment"])
    os.chdir(described["folder"])
    waiting: list[Rank] = []
    for _ in range(described["ranks"]):
        source, sink = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(sink)
            _run_rank(source)
            return
        os.close(source)
        waiting.append(Rank(pid, sink))
    _launch(described["arguments"], waiting)


def _launch(arguments: list[str], waiting: list[Rank]) -> None:
    """Run the program. A launcher takes the ranks that wait before it starts new processes."""
    from jtorch.__main__ import main
    from jtorch.distributed import _agent

    def start(command: list[str], env: dict[str, str], **streams: Any) -> Any:
        if streams or not waiting:
            return subprocess.Popen(command, env=env, **streams)
        return waiting.pop(0).begin(command, env)
    _agent.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": start})     # type: ignore[attr-defined]
    try:
        main(arguments)
    finally:
        for rank in waiting:
            rank.kill()


def _run_rank(source: int) -> None:
    """Wait for a rank's command and run it."""
    with os.fdopen(source) as pipe:
        text = pipe.readline()
    command, environment = json.loads(text)
    _set_environment(environment)
    sys.stdout.reconfigure(write_through=True)      # type: ignore[union-attr]
    from jtorch.__main__ import main
    main(command[command.index("-u") + 1:])


def _set_environment(environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    random.seed()
    np.random.seed()


class Rank:
    """A forked rank, with the methods of ``subprocess.Popen`` that the launcher calls."""

    def __init__(self, pid: int, sink: int):
        self.pid, self._sink, self._code = pid, sink, None

    def begin(self, command: list[str], environment: dict[str, str]) -> Rank:
        with os.fdopen(self._sink, "w") as pipe:
            pipe.write(json.dumps([command, environment]) + "\n")
        return self

    def poll(self) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        until = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.01)
        return self._code

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)


if __name__ == "__main__":
    main()
