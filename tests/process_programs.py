"""Programs of several processes, run by either library."""
from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

PROGRAMS = Path(__file__).parent / "distributed" / "programs"


def launched(library: str, processes: int, program: str, *args: str, **environment: str) -> subprocess.CompletedProcess:
    start = ["-m", "jtorch", "-m", "torch.distributed.run"] if library == "jtorch" else ["-m", "torch.distributed.run"]
    return subprocess.run([sys.executable, *start, "--standalone", f"--nproc-per-node={processes}", str(PROGRAMS / program), *args],
                          capture_output=True, text=True, timeout=600, check=False, env={**os.environ, **environment})


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
