"""``scripts/bench --memory``: peak memory of training against PyTorch's, and loops in which nothing may pile up."""
from __future__ import annotations

import gc
import re
import resource
import subprocess
import sys
import time

MEMORY_BAR = 1.3        # of PyTorch's peak
GROWTH_BAR = 16 << 20   # bytes that a loop may grow by after its warm-up
SLOW = {"exceptions", "lengths that vary"}      # a tenth of the turns: an error, or a new shape, takes milliseconds
STEPS = 30              # of a workload, before its peak is taken


def main(only: str = "", steps: int = 100_000) -> int:
    """Prints both tables; the status says whether all bars were met."""
    return max(_peaks(only), _loops(only, steps))


def _peaks(only: str) -> int:
    from benchmarks.workloads import WORKLOADS
    print(f"peak resident memory of {STEPS} steps in a process of its own, MB (above what it holds after the import)")
    print(f"{'workload':36} {'PyTorch':>16} {'jtorch':>16} {'ratio':>6}")
    worst = 0.0
    for workload in WORKLOADS:
        if not re.search(only, workload.name):
            continue
        (torch, torch_more), (jtorch, jtorch_more) = (_peak(workload.name, name) for name in ("torch", "jtorch"))
        worst = max(worst, jtorch / torch)
        print(f"{workload.name:36} {torch:8.0f} ({torch_more:5.0f}) {jtorch:8.0f} ({jtorch_more:5.0f}) {jtorch / torch:6.2f}"
              f"{'' if jtorch <= MEMORY_BAR * torch else '  OVER ITS BAR'}", flush=True)
    return int(worst > MEMORY_BAR)


def _peak(workload: str, library: str) -> tuple[float, float]:
    """MB at the peak of a workload, and how much of it came after the import."""
    command = [sys.executable, "-m", "benchmarks.memory", library, workload]
    peak, before = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(peak), float(peak) - float(before)


def _run_one(library: str, name: str) -> None:
    """What a process of ``_peak`` does."""
    if library == "jtorch":
        import jtorch as xp
    else:
        import torch as xp
        xp.set_num_threads(2)
    xp.zeros(2).sum().item()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    from benchmarks.workloads import WORKLOADS
    step = next(w for w in WORKLOADS if w.name == name).eager(xp)
    for _ in range(STEPS):
        step()
    gc.collect()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, before / 1024)


def _loops(only: str, steps: int) -> int:
    from benchmarks.leaks import LOOPS, chain, grown
    from jtorch.engine import TRIE
    print("\nloops: growth after the first 2,000 turns, what is left alive, states of the trie of records")
    failed = 0
    for name, loop in LOOPS.items():
        if not re.search(only, name):
            continue
        start = time.perf_counter()
        turns = steps if name not in SLOW else steps // 10
        more, left = grown(loop, 2_000, turns)
        over = more > GROWTH_BAR and "vary" not in name
        failed |= over
        kept = ", ".join([f"{n} {kind}" for kind, n in left.items() if n]) or "nothing"
        seconds = time.perf_counter() - start
        print(f"{name:28} {turns:7} turns {more / 2**20:8.1f} MB   {kept:24} {TRIE.states:8} states {seconds:6.0f} s"
              f"{'  OVER ITS BAR' if over else ''}", flush=True)
    start = time.perf_counter()
    assert chain(100_000) == 1
    print(f"a chain of 100,000 calls, forward and backward: {time.perf_counter() - start:.1f} s")
    return int(failed)


if __name__ == "__main__":
    _run_one(*sys.argv[1:])
