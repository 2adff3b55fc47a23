"""Time whole short programs, each in its own process: ``scripts/bench --cold [--rounds N] [--only WORDS]``.

The time of a program is the time of its process, with import and compiling. A "cold" run of jtorch begins with an empty
program cache, and a "warm" run uses the cache of the cold run. The longest wait is the longest step. The time of a step is the
median of the last quarter of the steps. Memory is the peak of the process.
"""
from __future__ import annotations

import importlib
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from benchmarks.first_use import environment
from benchmarks.measure import geometric_mean


class Run(NamedTuple):
    """The figures of a run: times in seconds, memory in MiB. ``last`` is the last number of the program."""

    whole: float
    wait: float
    step: float
    memory: float
    last: float


def run(library: str, name: str, cache: str) -> Run:
    """Run a program with a library in a process of its own. ``cache`` is the folder of the program cache."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "benchmarks.cold", library, name], text=True,
                          stdout=subprocess.PIPE, check=True, env=environment() | {"JTORCH_CACHE": cache})
    whole = time.perf_counter() - start
    return Run(whole, *json.loads(done.stdout.splitlines()[-1]))


def timed(library: str, program: Callable[[Any], Iterable[float]]) -> tuple[list[float], float]:
    """Run a program with a library; return the seconds of its turns, and the last number that it gave."""
    torch = importlib.import_module(library)
    if library == "torch":
        torch.set_num_threads(2)
    ends, number = [time.perf_counter()], 0.0
    for number in program(torch):  # noqa: B007  (the last is wanted)
        ends.append(time.perf_counter())
    return [b - a for a, b in pairwise(ends)], number


def _here(library: str, name: str) -> None:
    """Run a program in this process, and print its figures as JSON."""
    from benchmarks.memory import _status
    from benchmarks.programs import PROGRAMS
    times, last = timed(library, PROGRAMS[name])
    print(json.dumps([max(times), statistics.median(times[-len(times) // 4:]), _status("VmHWM"), last]))


def _median(runs: list[Run]) -> Run:
    return Run(*map(statistics.median, zip(*runs, strict=True)))


def _compared(name: str, rounds: int) -> tuple[Run, Run, Run]:
    """Return the medians of PyTorch's runs, of jtorch's cold runs, and of jtorch's warm runs."""
    found: list[list[Run]] = [[], [], []]
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            for runs, library in zip(found, ("torch", "jtorch", "jtorch"), strict=True):
                runs.append(run(library, name, cache))
    return _median(found[0]), _median(found[1]), _median(found[2])


def main(only: str, rounds: int) -> None:
    """Print the table."""
    from benchmarks.programs import PROGRAMS
    # The import writes the bytecode, so that no measured process compiles Python.
    subprocess.run([sys.executable, "-c", "import jtorch"], check=True, env=environment())
    print(f"{'':45} {'whole program, s':^31} {'longest wait, s':^23} {'a step, ms':^21} {'peak, MiB':^20}")
    print(f"{'':45}" + " PyTorch cold  /   warm  /   PyTorch  cold   warm   PyTorch jtorch  /    PyTorch jtorch  /")
    ratios: list[tuple[float, float, float]] = []
    for name in PROGRAMS:
        if re.search(only, name):
            t, c, w = _compared(name, rounds)
            ratios.append((c.whole / t.whole, w.whole / t.whole, c.step / t.step))
            print(f"{name:45} {t.whole:6.2f} {c.whole:6.2f} {ratios[-1][0]:4.2f} {w.whole:6.2f} {ratios[-1][1]:4.2f} |"
                  f" {t.wait:7.2f} {c.wait:6.2f} {w.wait:6.2f} | {t.step * 1e3:8.2f} {c.step * 1e3:7.2f} {ratios[-1][2]:4.2f} |"
                  f" {t.memory:6.0f} {c.memory:6.0f} {c.memory / t.memory:4.2f} | {t.last:.5g} {c.last:.5g}", flush=True)
    cold, warm, step = (geometric_mean(list(column)) for column in zip(*ratios, strict=True))
    print(f"geometric means of the ratios: cold {cold:.2f}, warm {warm:.2f}, a step {step:.2f}")


if __name__ == "__main__":
    _here(*sys.argv[1:])
