"""Print a table of time ratios: ``python -m benchmarks [--rounds N] [--only WORDS] [--json FILE] [--picture FILE]``.

``--memory``, ``--cold`` and ``--stalls`` measure memory, whole short programs and waits instead.
"""
from __future__ import annotations

import argparse
import json
import re

import jtorch
from benchmarks.larger import CONVOLUTIONS
from benchmarks.measure import Result, geometric_mean, measure
from benchmarks.workloads import WORKLOADS

# Upper limits for the mean ratios of jtorch's time to PyTorch's, and to that of jax.jit. Larger limits accept slower results.
MEAN_BARS = (0.75, 1.4)


def _row(r: Result) -> str:
    jax_us = f"{r.jax_us:9.0f}" if r.jax_us is not None else "        -"
    of_jax = f"{r.of_jax:6.2f}" if r.of_jax is not None else "     -"
    verdict = {None: "", True: "  within its bar", False: "  OVER ITS BAR"}[r.within_bars]
    faults = f"{r.torch_faults:9.0f} {r.jtorch_faults:9.0f}"
    return f"{r.name:60} {r.torch_us:9.0f} {r.jtorch_us:9.0f} {jax_us} {r.of_torch:9.2f} {of_jax} {faults}{verdict}"


def _means(results: list[Result]) -> tuple[str, bool]:
    """Return the row of geometric means, and whether the means are within their limits."""
    results = [r for r in results if not r.name.startswith(CONVOLUTIONS)]
    of_torch = geometric_mean([r.of_torch for r in results])
    of_jax = geometric_mean([r.of_jax for r in results if r.of_jax is not None])
    met = of_torch <= MEAN_BARS[0] and of_jax <= MEAN_BARS[1]
    verdict = "  within its bar" if met else "  OVER ITS BAR"
    return f"{'geometric mean':60} {'':9} {'':9} {'':9} {of_torch:9.2f} {of_jax:6.2f}{verdict}", met


def main() -> int:
    """Run the workloads. Return 0 if all ratios are within their limits, else 1."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="a regular expression: the workloads to run")
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--memory", action="store_true", help="measure memory instead of time")
    parser.add_argument("--cold", action="store_true", help="time whole short programs in fresh processes")
    parser.add_argument("--stalls", action="store_true", help="time how long programs stand still that nobody tuned for")
    parser.add_argument("--steps", type=int, default=100_000, help="of the loops that --memory runs")
    parser.add_argument("--picture", help="a file for a bar chart of the ratios (.svg or .png; needs matplotlib)")
    given = parser.parse_args()
    if given.memory:
        from benchmarks import memory
        return memory.main(given.only, given.steps)
    if given.cold:
        from benchmarks import cold
        cold.main(given.only, given.rounds)
        return 0
    if given.stalls:
        from benchmarks import stalls
        stalls.main(given.only, given.rounds)
        return 0
    import torch
    torch.set_num_threads(2)
    print("microseconds per step: medians of interleaved rounds; ratios: medians of the rounds' ratios")
    print(f"{'workload':60} {'PyTorch':>9} {'jtorch':>9} {'jax.jit':>9} {'/PyTorch':>9} {'/jax':>6} "
          f"{'page faults of both':>19}")
    results = []
    for workload in WORKLOADS:
        if re.search(given.only, workload.name):
            results.append(measure(workload, torch, jtorch, given.rounds))
            print(_row(results[-1]), flush=True)
    met = True
    ratios = [r.of_torch for r in results if r.name.startswith(CONVOLUTIONS)]
    if ratios:
        print(f"convolutions: mean {geometric_mean(ratios):.2f} of PyTorch's time, worst {max(ratios):.2f}")
    if not given.only:
        row, met = _means(results)
        print(row)
    if given.picture:
        from benchmarks.picture import draw
        draw(results, given.picture)
    if given.json:
        with open(given.json, "w") as f:
            json.dump([r.as_dict() for r in results], f, indent=1)
    return 1 if not met or any(r.within_bars is False for r in results) else 0


if __name__ == "__main__":
    raise SystemExit(main())
