"""Compare two processes of one core each with one process, and an all-reduce with gloo's: ``python -m benchmarks.ranks``.

A step of DistributedDataParallel should take no longer than the sum of two times: the step of one process with a rank's batch
on one core, and an all-reduce of the gradients. Times are medians of rank 0's steps.
"""
from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.models import training

SIZES = (1, 1_000, 100_000, 1_000_000, 25_000_000)      # Elements of an all-reduce, in float32.
WIDTHS = (512, 1024, 1024, 1024, 64)
BATCH = 128     # Batch size of a rank.


def _median(step: Callable[[], Any], turns: int, before: int) -> float:
    """Return the median seconds of ``turns`` steps, after ``before`` warm-up steps."""
    times = []
    for _ in range(before + turns):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times[before:])


def _training(torch: Any, model: Any) -> Callable[[], float]:
    x, y = torch.randn(BATCH, WIDTHS[0]), torch.randn(BATCH, WIDTHS[-1])
    return training(torch.optim.SGD(model.parameters(), lr=1e-3), lambda: torch.nn.functional.mse_loss(model(x), y))


def _here(library: str) -> None:
    """Measure in this process, on a core of its own, and print the figures as JSON."""
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    import importlib
    torch = importlib.import_module(library)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = [torch.nn.Sequential(torch.nn.Linear(i, o), torch.nn.ReLU()) for i, o in zip(WIDTHS[:-1], WIDTHS[1:], strict=True)]
    model = torch.nn.Sequential(*layers)
    parameters = sum(p.numel() for p in model.parameters())
    found: dict[Any, float] = {}
    if ranks > 1:
        distributed = importlib.import_module(f"{library}.distributed")
        distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
        for n in (*SIZES, parameters):
            found[n] = _median(partial(distributed.all_reduce, torch.ones(n)), 40 if n < 10**7 else 7, 5)
    found["step"] = _median(_training(torch, model), 30, 30)
    if ranks > 1:
        distributed.destroy_process_group()
    print(json.dumps(found | {"parameters": parameters}))


def measured(library: str, ranks: int) -> dict[str, float]:
    """Run a job, and return the figures of rank 0: seconds of a step, and of all-reduces by their number of elements."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    command = [sys.executable, "-m", "benchmarks.ranks", "--library", library]
    jobs = [subprocess.Popen(command, env=environment | {"RANK": str(r)}, stdout=subprocess.PIPE, text=True)
            for r in range(ranks)]
    printed = [job.communicate()[0] for job in jobs]
    return json.loads(printed[0].splitlines()[-1])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser("python -m benchmarks.ranks", description=__doc__)
    parser.add_argument("--library", choices=("torch", "jtorch"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.library:
        _here(given.library)
        return
    one = {library: measured(library, 1) for library in ("torch", "jtorch")}
    two = {library: measured(library, 2) for library in ("torch", "jtorch")}
    print(f"{'all-reduce of 2 ranks, floats':30} {'PyTorch, us':>12} {'jtorch, us':>12} {'ratio':>6}")
    for n in SIZES:
        t, j = (two[library][str(n)] * 1e6 for library in ("torch", "jtorch"))
        print(f"{n:30,} {t:12.0f} {j:12.0f} {j / t:6.2f}")
    for library in one:
        alone, both, sent = one[library]["step"], two[library]["step"], two[library][str(two[library]["parameters"])]
        print(f"{library}: a step of {BATCH} by one process {alone * 1e3:.1f} ms, by each of two {both * 1e3:.1f}, the "
              f"all-reduce of {two[library]['parameters']:,} gradients {sent * 1e3:.1f}; {both / (alone + sent):.2f} of the sum, "
              f"{(both - sent) / alone:.2f} of one process without it")


if __name__ == "__main__":
    main()
