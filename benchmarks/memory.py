"""``scripts/bench --memory``: peak memory of training against PyTorch's, and loops in which nothing may pile up."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

MEMORY_BAR = 1.3        # Limit for the ratio to PyTorch's peak.
GROWTH_BAR = 16 << 20   # Growth in bytes that a loop may have after its warm-up.
SLOW = {"exceptions", "lengths that vary"}      # These take milliseconds a turn, so they run a tenth of the turns.
WARM_UP = {"lengths that vary": 12_000}         # Warm-up turns; fewer do not fill the caches.
STEPS, SECONDS = 30, 5  # The peak is taken after so many steps or seconds of a workload, whichever takes longer.


def main(only: str = "", steps: int = 100_000) -> int:
    """Prints both tables; the status says whether all bars were met."""
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
    """MiB that a process held after the import, at most, and at its end."""

    imported: float
    peak: float
    end: float

    @property
    def above(self) -> float:
        """What came after the import."""
        return self.peak - self.imported

    def __str__(self):
        return f"{self.imported:7.0f} {self.peak:6.0f} {self.above:6.0f} {self.end:6.0f} |"


def _measured(workload: str, library: str, cache: str) -> Memory:
    command = [sys.executable, "-m", "benchmarks.memory", library, workload]
    environment = {**os.environ, "JTORCH_CACHE": cache}
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout
    return Memory(*map(float, printed.split()))


def _run_one(library: str, name: str) -> None:
    """What a process of ``_measured`` does."""
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
    """A line of Linux's account of this process, in MiB. (getrusage's peak would begin with that of the parent.)"""
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
