"""Time step functions in interleaved rounds, and take the medians of times and of ratios."""
from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from benchmarks.workloads import Step, Workload

WARM_UP = 60        # Lower limit for the warm-up steps. A larger limit gives jtorch more steps to compile.
PATIENCE = 20.0     # Upper limit in seconds for a warm-up. A larger limit waits longer for the last compilations.


@dataclass(frozen=True)
class Result:
    """Microseconds per step (medians over the rounds), and jtorch's ratio to the others (medians of the rounds' ratios)."""

    name: str
    torch_us: float
    jtorch_us: float
    jax_us: float | None
    of_torch: float
    of_jax: float | None
    within_bars: bool | None
    torch_faults: float         # Page faults per step. Other work on the machine does not change them.
    jtorch_faults: float

    def as_dict(self) -> dict:
        """Return the fields as a dict, for JSON."""
        return asdict(self)


def geometric_mean(ratios: list[float]) -> float:
    """Return the geometric mean of ratios; NaN for an empty list."""
    return statistics.geometric_mean(ratios) if ratios else float("nan")


def _seconds(step: Step, n: int) -> float:
    start = time.perf_counter()
    for _ in range(n):
        step()
    return (time.perf_counter() - start) / n


def _faults(step: Step, n: int) -> float:
    """Return the page faults per step."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(n):
        step()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / n


def _warm_up(step: Step, n: int, compiled: Callable[[], int]) -> None:
    """Run ``n`` steps, again and again until the sum ``compiled()`` stays equal for ``n`` steps, or ``PATIENCE`` is over.

    The sum counts programs, kernels, and traces that still run call by call. ``first_use`` measures such a warm-up.
    """
    until, before = time.perf_counter() + PATIENCE, -1
    while compiled() != before and time.perf_counter() < until:
        before = compiled()
        _seconds(step, n)


def _check_agreement(name: str, steps: list[Step]) -> None:
    first = [[float(step()) for _ in range(3)] for step in steps]
    for other in first[1:]:
        # The tolerance fits the third loss of ResNet-18, which differs most in float32. In float64 the libraries agree.
        if not np.allclose(first[0], other, rtol=5e-3):
            raise AssertionError(f"{name}: the libraries compute different things: {first}")


def _round(steps: list[Step], n: int, first: int) -> list[float]:
    """Return microseconds per step of each function. ``first`` is the function that runs first.

    Each round has another first function, since a function changes the caches and threads that the next function finds.
    """
    taken = {i: _seconds(steps[i], n) * 1e6 for i in [*range(first, len(steps)), *range(first)]}
    return [taken[i] for i in range(len(steps))]


def measure(workload: Workload, torch, jtorch, rounds: int) -> Result:
    """Time a workload in interleaved rounds."""
    steps = [workload.eager(torch), workload.eager(jtorch)]
    steps += [workload.jitted()] if workload.jitted is not None else []
    _check_agreement(workload.name, steps)
    counters = jtorch.engine.stats.counters
    for step in steps:
        _warm_up(step, max(WARM_UP, min(workload.steps, 100)), lambda: counters.programs + counters.kernels + counters.caught_up)
    times = [_round(steps, workload.steps, first=k % len(steps)) for k in range(rounds)]
    medians = [statistics.median(column) for column in zip(*times, strict=True)]
    of_torch = statistics.median(t[1] / t[0] for t in times)
    of_jax = statistics.median(t[1] / t[2] for t in times) if len(steps) > 2 else None
    met = [ratio <= bar for ratio, bar in zip((of_torch, of_jax), workload.bars, strict=True)
           if bar is not None and ratio is not None]
    faults = [_faults(step, min(workload.steps, 20)) for step in steps[:2]]
    return Result(workload.name, medians[0], medians[1], medians[2] if len(steps) > 2 else None, of_torch, of_jax,
                  all(met) if met else None, *faults)
