"""Compare peak memory with PyTorch's, and look for loops that grow: ``scripts/bench --memory``."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

MEMORY_BAR = 1.3        # Upper limit for the ratio to PyTorch's peak. A larger limit accepts more memory.
GROWTH_BAR = 16 << 20   # Upper limit in bytes for the growth of a loop after its warm-up. A larger limit accepts larger leaks.
SLOW = {"exceptions", "lengths that vary"}      # Names of slow loops, which run a tenth of the turns.
WARM_UP = {"lengths that vary": 12_000}         # Warm-up turns of the loop that has to fill the caches. Other loops have fewer.
STEPS, SECONDS = 30, 5  # Lower limits for the steps and seconds of a workload. Larger values take longer and find later peaks.


def main(only: str = "", steps: int = 100_000) -> int:
    """Print both tables. Return 0 if all figures are within their limits, else 1."""
    return max(_peaks(only), _loops(only, steps))


def _peaks(only: str) -> int:
    from benchmarks.larger import CONVOLUTIONS
    from benchmarks.workloads import WORKLOADS
    print(f"resident memory in MiB of a process of its own: after the import, at the peak of {STEPS} steps (or as many "
          f"as\n{SECONDS} s have), and behind them; jtorch also in a second process, which finds its programs on disk; bar: "
          f"{MEMORY_BAR} of PyTorch's peak")
    columns = f"{'import':>7} {'peak':>6} {'above':>6} {'end':>6} |"
    print(f"{'':36} {'PyTorch':^28} | {'jtorch':^28} | {'the same again':^28} | {'ratio of':^13} |")
    print(f"{'workload':36}{columns}{columns}{columns}{'peaks':>7} {'above':>6} |")
    worst = 0.0
    for workload in WORKLOADS:
        if re.search(only, workload.name) and (only or not workload.name.startswith(CONVOLUTIONS)):
            with tempfile.TemporaryDirectory() as cache:
                torch, jtorch, again = (_measured(workload.name, name, cache) for name in ("torch", "jtorch", "jtorch"))
            worst = max(worst, jtorch.peak / torch.peak)
            print(f"{workload.name:36}{torch}{jtorch}{again}{jtorch.peak / torch.peak:7.2f} {jtorch.above / torch.above:6.2f} |"
                  f"{'' if jtorch.peak <= MEMORY_BAR * torch.peak else '  OVER ITS BAR'}", flush=True)
    return int(worst > MEMORY_BAR)


class Memory(NamedTuple):
    """The resident memory of a process in MiB: after the import, at its peak, and at its end."""

    imported: float
    peak: float
    end: float

    @property
    def above(self) -> float:
        """The peak above the memory after the import."""
        return self.peak - self.imported

    def __str__(self):
        return f"{self.imported:7.0f} {self.peak:6.0f} {self.above:6.0f} {self.end:6.0f} |"


def _measured(workload: str, library: str, cache: str) -> Memory:
    command = [sys.executable, "-m", "benchmarks.memory", library, workload]
    environment = {**os.environ, "JTORCH_CACHE": cache}
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout
    return Memory(*map(float, printed.split()))


def _run_one(library: str, name: str) -> None:
    """Run a workload in this process, and print its memory. ``_measured`` starts such processes."""
    if library == "jtorch":
        import jtorch as xp
    else:
        import torch as xp
        xp.set_num_threads(2)
    imported = _status("VmRSS")
    from benchmarks.workloads import WORKLOADS
    step = next(w for w in WORKLOADS if w.name == name).eager(xp)
    start, done = time.perf_counter(), 0
    while done < STEPS or time.perf_counter() - start < SECONDS:
        step()
        done += 1
    print(imported, _status("VmHWM"), _status("VmRSS"))


def _status(field: str) -> float:
    """Return a field of ``/proc/self/status`` in MiB. The peak of ``getrusage`` would include the parent's."""
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


def _loops(only: str, steps: int) -> int:
    from benchmarks.leaks import LOOPS, chain, grown
    from jtorch.engine import local, stats
    print("\nloops: growth after a warm-up, what is left alive, states of the trie of traces, programs compiled")
    failed = 0
    for name, loop in LOOPS.items():
        if not re.search(only, name):
            continue
        start = time.perf_counter()
        turns = steps if name not in SLOW else steps // 10
        more, left = grown(loop, WARM_UP.get(name, 2_000), turns)
        over = more > GROWTH_BAR
        failed |= over
        kept = ", ".join([f"{n} {kind}" for kind, n in left.items() if n]) or "nothing"
        seconds = time.perf_counter() - start
        print(f"{name:28} {turns:7} turns {more / 2**20:8.1f} MB   {kept:24} {local.recorder.trie.states:8} states "
              f"{stats.counters.programs:4} programs {seconds:6.0f} s"
              f"{'  OVER ITS BAR' if over else ''}", flush=True)
    start = time.perf_counter()
    assert chain(100_000) == 1
    print(f"a chain of 100,000 calls, forward and backward: {time.perf_counter() - start:.1f} s")
    return int(failed)


if __name__ == "__main__":
    _run_one(*sys.argv[1:])
