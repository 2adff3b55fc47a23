"""The launcher's agent, which starts and watches the processes of one machine."""
from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import IO, Any

from jtorch._base import gpus
from jtorch.distributed.elastic.multiprocessing.errors import ProcessFailure
from jtorch.distributed.tcp_store import TCPStore

_GRACE = 5.0        # Seconds that a process has to end after SIGTERM.
_STREAMS = {0: (), 1: ("stdout",), 2: ("stderr",), 3: ("stdout", "stderr")}


class Agent:
    """Starts and watches the processes of one machine; the first machine's agent serves the store that all ranks use."""

    def __init__(self, given: argparse.Namespace):
        self.given = given
        self.nodes = int(str(given.nnodes).rpartition(":")[2])
        self.here = _processes(given.nproc_per_node)
        self.node_rank = given.node_rank
        self.host, port = _master(given, self.nodes)
        self._store = TCPStore(self.host, port, is_master=True) if self.node_rank == 0 else None
        self.port = self._store.port if self._store is not None else port
        self.run_id = given.rdzv_id if given.rdzv_id != "none" else uuid.uuid4().hex[:8] if given.standalone else "none"
        self.folder = Path(tempfile.mkdtemp(prefix=f"{self.run_id}_", dir=_created(given.log_dir) if given.log_dir else None))
        self.processes: list[subprocess.Popen] = []
        self._copiers: list[threading.Thread] = []

    def run(self) -> dict[int, ProcessFailure]:
        """Run the program until all ranks are done or no restart is left, and return the failures."""
        for attempt in range(self.given.max_restarts + 1):
            self.processes = [self._start(i, attempt) for i in range(self.here)]
            try:
                failures = self._watch(attempt)
            finally:
                self._terminate_all()
            if not failures or attempt == self.given.max_restarts:
                return failures
            sys.stderr.write(f"torchrun: a rank has failed; restart {attempt + 1} of {self.given.max_restarts}\n")
        return {}

    def _environment(self, local: int, attempt: int) -> dict[str, str]:
        world, rank = self.nodes * self.here, self.node_rank * self.here + local
        made = {"LOCAL_RANK": local, "RANK": rank, "GROUP_RANK": self.node_rank, "ROLE_RANK": rank, "ROLE_NAME": self.given.role,
                "LOCAL_WORLD_SIZE": self.here, "WORLD_SIZE": world, "GROUP_WORLD_SIZE": self.nodes, "ROLE_WORLD_SIZE": world,
                "MASTER_ADDR": self.host, "MASTER_PORT": self.port, "TORCHELASTIC_RESTART_COUNT": attempt,
                "TORCHELASTIC_MAX_RESTARTS": self.given.max_restarts, "TORCHELASTIC_RUN_ID": self.run_id,
                "TORCHELASTIC_USE_AGENT_STORE": True, "TORCHELASTIC_ERROR_FILE": self._error_file(local, attempt)}
        threads = {"OMP_NUM_THREADS": "1"} if self.here > 1 and "OMP_NUM_THREADS" not in os.environ else {}
        return {**os.environ, **threads, **{k: str(v) for k, v in made.items()}}

    def _error_file(self, local: int, attempt: int) -> Path:
        return _created(self.folder / f"attempt_{attempt}" / str(local)) / "error.json"

    def _command(self) -> list[str]:
        given = self.given
        python = [] if given.no_python else [sys.executable, "-u", *(["-m"] if given.module else [])]
        return [*python, given.training_script, *given.training_script_args]

    def _start(self, local: int, attempt: int) -> subprocess.Popen:
        shown = not self.given.local_ranks_filter or str(local) in self.given.local_ranks_filter.split(",")
        redirected, teed = (_STREAMS[_streams_of(text, local)] for text in (self.given.redirects, self.given.tee))
        folder = self._error_file(local, attempt).parent
        streams: dict[str, Any] = {}
        for name in ("stdout", "stderr"):
            if name in teed:
                streams[name] = subprocess.PIPE
            elif name in redirected:
                streams[name] = (folder / f"{name}.log").open("wb")
            elif not shown:
                streams[name] = subprocess.DEVNULL
        made = subprocess.Popen(self._command(), env=self._environment(local, attempt), **streams)
        for name in teed:
            self._copy(getattr(made, name), (folder / f"{name}.log").open("wb"), getattr(sys, name) if shown else None, local)
        return made

    def _copy(self, source: IO[bytes], file: IO[bytes], shown: Any, local: int) -> None:
        def run() -> None:
            with file, contextlib.suppress(ValueError):
                for line in source:
                    file.write(line)
                    if shown is not None:
                        shown.write(f"[{self.given.role}{local}]:{line.decode(errors='replace')}")
                        shown.flush()
        self._copiers.append(threading.Thread(target=run, daemon=True))
        self._copiers[-1].start()

    def _watch(self, attempt: int) -> dict[int, ProcessFailure]:
        """Wait until all processes are done or one has failed; return the failures by rank."""
        while True:
            codes = [p.poll() for p in self.processes]
            failed = {i: code for i, code in enumerate(codes) if code}
            if failed:
                return {self.node_rank * self.here + i: self._failure(i, code, attempt) for i, code in failed.items()}
            if all(code == 0 for code in codes):
                return {}
            time.sleep(self.given.monitor_interval)

    def _failure(self, local: int, code: int, attempt: int) -> ProcessFailure:
        return ProcessFailure(local, self.processes[local].pid, code, self._existing_error_file(local, attempt))

    def _existing_error_file(self, local: int, attempt: int) -> str:
        file = self._error_file(local, attempt)
        return str(file) if file.is_file() else ""

    def _terminate_all(self) -> None:
        """Terminate the processes that still run."""
        for p in self.processes:
            if p.poll() is None:
                p.terminate()
        until = time.monotonic() + _GRACE
        for p in self.processes:
            try:
                p.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        for copier in self._copiers:
            copier.join(1.0)


def _created(folder: str | Path) -> Path:
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder)


def _processes(text: str) -> int:
    if text in ("auto", "cpu", "gpu"):
        count = 0 if text == "cpu" else gpus.counted() or 0
        if text == "gpu" and not count:
            raise ValueError("Cuda is not available.")
        return count or os.cpu_count() or 1
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"Unsupported nproc_per_node value: {text}") from None


def _streams_of(text: str, local: int) -> int:
    """Return the streams of a local rank from ``text``: ``3`` for all ranks, or ``0:3,1:0`` for each."""
    if ":" not in text:
        return int(text)
    return {int(k): int(v) for k, v in (part.split(":") for part in text.split(","))}.get(local, 0)


def _master(given: argparse.Namespace, nodes: int) -> tuple[str, int]:
    """Return the host and port at which the first machine serves the store; port 0 means any free port."""
    if given.rdzv_backend not in ("static", "c10d"):
        raise NotImplementedError(f"torch.distributed.run: the rendezvous backend {given.rdzv_backend!r} is not built; static "
                                  "and c10d are")
    if given.rdzv_endpoint and not given.standalone:
        host, _, port = given.rdzv_endpoint.partition(":")
        return host, int(port) if port not in ("", "0") else _free_port(nodes)
    host = given.master_addr or "127.0.0.1"
    if given.master_port is not None:
        return host, given.master_port
    return host, 29500 if nodes > 1 else _free_port(nodes)


def _free_port(nodes: int) -> int:
    if nodes > 1:
        raise ValueError("several machines need a port that all of them know: --master-port, or host:port as --rdzv-endpoint")
    return 0
