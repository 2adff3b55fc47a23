"""Time the waits of programs without any tuning: ``scripts/bench --stalls [--rounds N] [--only WORDS]``.

Each program runs in a process of its own, with an empty cache. The whole time is the time of the process, with the import. The
other columns are the first turn, the longest later turn with its start in seconds, and a late turn: the median of the last
quarter. Programs are in ``stalls_images``, ``stalls_loops`` and ``stalls_nets``.
"""
from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import NamedTuple

from benchmarks.cold import timed
from benchmarks.first_use import environment
from benchmarks.measure import geometric_mean
from benchmarks.programs import Program
from benchmarks.stalls_images import IMAGES
from benchmarks.stalls_loops import LOOPS
from benchmarks.stalls_nets import NETS

PROGRAMS: dict[str, Program] = {**IMAGES, **LOOPS, **NETS}


class Run(NamedTuple):
    """The figures of a run in seconds. ``last`` is the last number of the program."""

    whole: float
    first: float
    longest: float
    at: float
    late: float
    last: float


def run(library: str, name: str) -> Run:
    """Run a program with a library in a process of its own."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "benchmarks.stalls", library, name], text=True, check=True,
                          stdout=subprocess.PIPE, env=environment() | {"JTORCH_CACHE": "0"})
    whole = time.perf_counter() - start
    return Run(whole, *json.loads(done.stdout.splitlines()[-1]))


def _here(library: str, name: str) -> None:
    """Run a program in this process, and print its figures as JSON."""
    (first, *later), last = timed(library, PROGRAMS[name])
    longest = max(range(len(later)), key=later.__getitem__)
    late = statistics.median(later[-len(later) // 4:])
    print(json.dumps([first, later[longest], first + sum(later[:longest]), late, last]))


def _median(runs: Iterable[Run]) -> Run:
    return Run(*map(statistics.median, zip(*runs, strict=True)))


def main(only: str, rounds: int) -> None:
    """Print the table."""
    # The import writes the bytecode, so that no measured process compiles Python.
    subprocess.run([sys.executable, "-c", "import jtorch"], check=True, env=environment())
    print(f"{'':43}{'whole, s':^24}{'first turn, s':^16}{'longest later, s (at)':^30}{'late turn, ms':^24}")
    print(f"{'':43}" + " PyTorch jtorch  ratio   PyTorch jtorch   PyTorch        jtorch          PyTorch  jtorch ratio")
    wholes: list[float] = []
    longest = 0.0
    for name in PROGRAMS:
        if re.search(only, name):
            t, j = map(_median, zip(*[(run("torch", name), run("jtorch", name)) for _ in range(rounds)], strict=True))
            wholes.append(j.whole / t.whole)
            longest = max(longest, j.longest)
            print(f"{name:43} {t.whole:6.2f} {j.whole:6.2f} {wholes[-1]:6.2f} | {t.first:6.2f} {j.first:6.2f} |"
                  f" {t.longest:6.2f} ({t.at:5.2f}) {j.longest:6.2f} ({j.at:5.2f}) | {t.late * 1e3:8.2f} {j.late * 1e3:7.2f}"
                  f" {j.late / t.late:5.2f} | {t.last:.5g} {j.last:.5g}", flush=True)
    print(f"whole: geometric mean of the ratios {geometric_mean(wholes):.2f}, worst {max(wholes):.2f}; "
          f"longest wait {longest:.2f} s")


if __name__ == "__main__":
    _here(*sys.argv[1:])
