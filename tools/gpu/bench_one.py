"""Time one workload with one library: ``python -m tools.gpu.bench_one WORKLOAD WHO SECONDS [--stand-in]`` prints JSON.

A process of its own has a true first step, and the memory of the previous workload is free.
"""
from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.workload import Step
from tools.gpu.stand_in import jtorch_with
from tools.gpu.workloads import GpuWorkload, workloads

MARK = "figures: "      # The line of the result begins with this text.
WARM_UP = 60            # The warm-up ends after this many steps without a new compilation.
STEPS = 100             # Upper limit of timed steps.


def make_step(workload: GpuWorkload, who: str, stand_in: bool) -> Step:
    """Return the library's step on the GPU. All libraries may use TF32 for products of float32."""
    if who == "jax.jit":
        import jax
        assert workload.jitted is not None
        jax.config.update("jax_default_matmul_precision", "tensorfloat32")
        return workload.jitted()
    torch: Any = jtorch_with(stand_in) if who == "jtorch" else __import__("torch")
    torch.set_float32_matmul_precision("high")
    if stand_in:
        torch.set_num_threads(1)
    with torch.device("cpu" if stand_in and who != "jtorch" else "cuda"):
        step = workload.eager(torch)
    return torch.compile(step) if who == "torch.compile" else step


def _compiled(who: str) -> Callable[[], int]:
    """Return a function that counts jtorch's compiled programs and kernels. Other libraries count as zero."""
    if who != "jtorch":
        return lambda: 0
    counters = jtorch_with(False).engine.stats.counters
    return lambda: counters.programs + counters.kernels


def _seconds(step: Step) -> float:
    start = time.perf_counter()
    step()          # A step reads a number, so its work is done at the return.
    return time.perf_counter() - start


def measure(step: Step, compiled: Callable[[], int], seconds: float, tiny: bool) -> dict[str, Any]:
    """Return the first step, the longest later step, and the median of steps after the last compilation.

    The warm-up takes half of the time at most. ``settled`` is False if it was too short.
    """
    start = time.perf_counter()
    taken: list[float] = []
    steady: list[float] = []
    first = _seconds(step)
    known, quiet = compiled(), 0
    while quiet < (3 if tiny else WARM_UP) and time.perf_counter() - start < seconds / 2:
        taken.append(_seconds(step))
        known, quiet = compiled(), quiet + 1 if compiled() == known else 0
    settled = quiet >= (3 if tiny else WARM_UP)
    while len(steady) < (5 if tiny else STEPS) and (len(steady) < 3 or time.perf_counter() - start < seconds):
        steady.append(_seconds(step))
    return {"first_s": first, "longest_later_s": max(taken, default=0.0), "step_ms": statistics.median(steady) * 1e3,
            "steps": len(steady), "warm_up_steps": len(taken), "settled": settled}


def main() -> None:
    """Print the figures."""
    name, who, seconds, *flags = sys.argv[1:]
    tiny = "--stand-in" in flags
    workload = next(w for w in workloads(tiny) if w.name == name)
    start = time.perf_counter()
    step = make_step(workload, who, tiny)
    built = time.perf_counter() - start
    found = measure(step, _compiled(who), float(seconds) - built, tiny)
    print(MARK + json.dumps({"import_and_build_s": built, **found}))


if __name__ == "__main__":
    main()
