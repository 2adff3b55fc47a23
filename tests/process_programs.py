"""Programs of several processes, run by either library."""
from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import forked

PROGRAMS = Path(__file__).parent / "distributed" / "programs"


def virtual_devices(number: int) -> dict[str, str]:
    """Return the environment of a process with so many virtual CPU devices."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={number}"
    return {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}


@contextlib.contextmanager
def job_of_one(xp: Any) -> Iterator[None]:
    """Be the only rank of a job of either library."""
    dist = importlib.import_module(f"{xp.__name__}.distributed")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def launched(library: str, processes: int, program: str, *args: str, fork: bool = forked.CAN_FORK,
             **environment: str) -> subprocess.CompletedProcess:
    """Run a program of a job. With ``fork`` jtorch's launcher and ranks are forked, and otherwise Python starts anew for each."""
    command = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", str(PROGRAMS / program), *args]
    env = {**os.environ, **environment}
    if library == "jtorch" and fork:
        return forked.run(command, env, timeout=600, ranks=processes)
    start = [sys.executable, *(["-m", "jtorch"] if library == "jtorch" else [])]
    return subprocess.run([*start, *command], capture_output=True, text=True, timeout=600, check=False, env=env)


def written(library: str, processes: int, program: str, to: Path, *args: str) -> list[str]:
    """Return the lines that the ranks write to a file, one rank after another. In stdout, Gloo's output could split them."""
    ran = launched(library, processes, program, *args, PRINTED=str(to))
    if library == "torch" and "terminate called without an active exception" in ran.stderr:
        # On a loaded machine PyTorch sometimes aborts at its end, so a failed run is repeated once.
        to.unlink(missing_ok=True)
        ran = launched(library, processes, program, *args, PRINTED=str(to))
    assert ran.returncode == 0, ran.stderr[-3000:]
    return to.read_text().splitlines()


def text_of(program: str, processes: int) -> str:
    """Return the key of a program's recorded lines: its name and text, and the number of processes."""
    digest = hashlib.sha256((PROGRAMS / program).read_bytes()).hexdigest()
    return f"{program} on {processes} of {digest[:16]}"
