"""Times one workload with one library: ``python -m tools.gpu.bench_one WORKLOAD WHO SECONDS [--stand-in]`` prints JSON.

A process of its own, so that the first step is one, and the memory of the one before is free.
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

MARK = "figures: "      # what the line of the result begins with
WARM_UP = 60            # steps at most; jtorch compiles on the way
STEPS = 100             # timed, at most


def make_step(workload: GpuWorkload, who: str, stand_in: bool) -> Step:
    """The library's step on the GPU, all with the GPU's quicker products of float32 (TF32)."""
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
    """How many programs and kernels jtorch has compiled; nothing is known of the others."""
    if who != "jtorch":
        return lambda: 0
    counters = jtorch_with(False).engine.stats.counters
    return lambda: counters.programs + counters.kernels


def _seconds(step: Step) -> float:
    start = time.perf_counter()
    step()          # reads a number, so the work is done
    return time.perf_counter() - start


def measure(step: Step, compiled: Callable[[], int], seconds: float, tiny: bool) -> dict[str, Any]:
    """The first step, the longest of the others, and the median of steps when nothing more is compiled.

    Half of the time at most is the warm-up's; ``settled`` says whether it was enough.
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
    """Prints the figures."""
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
