"""The benchmarks: each workload with each library, in a process of its own with a time limit."""
from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tools.gpu.bench_one import MARK
from tools.gpu.child import Ended, run
from tools.gpu.line import LATE, SKIPPED, Line
from tools.gpu.workloads import GpuWorkload, workloads

LIMIT = 70.0        # Limit of each process in seconds.
START = 8.0         # Part of the limit for imports and the end, in seconds.
WHO = ("jtorch", "torch", "torch.compile", "jax.jit")


def _reason_against(workload: GpuWorkload, who: str, machine: dict[str, Any], tiny: bool) -> str:
    """Return the reason against measuring a pair; empty if there is none."""
    if who == "jax.jit":
        return "" if workload.jitted is not None else "none is written for it"
    if who == "jtorch":
        return ""
    if machine["pytorch"] is None:
        return "PyTorch is not installed"
    if tiny:
        return "compiles for minutes on a CPU" if who == "torch.compile" else ""
    return "" if machine["pytorch_has_cuda"] else "PyTorch is installed without CUDA"


def run_all(seconds: float, tiny: bool, machine: dict[str, Any]) -> Iterator[Line]:
    """Measure all pairs of workload and library within this many seconds."""
    pairs = [(workload, who) for workload in workloads(tiny) for who in WHO]
    wanted = [pair for pair in pairs if not _reason_against(*pair, machine, tiny)]
    for workload, who in pairs:
        name, reason = f"{workload.name}, {who}", _reason_against(workload, who, machine, tiny)
        if reason:
            yield Line("benchmarks", name, SKIPPED, detail=reason)
            continue
        limit = min(LIMIT, seconds, seconds / len(wanted) * 2.5)     # A pair may take 2.5 shares, since quick pairs take less.
        if limit < 2 * START and not tiny:
            yield Line("benchmarks", name, LATE, detail="the part's time was up")
            continue
        line = _line(name, run(["-m", "tools.gpu.bench_one", workload.name, who, f"{limit - START:.0f}",
                                *(["--stand-in"] if tiny else [])], limit, tiny))
        seconds -= line.seconds
        wanted.pop()
        yield line


def _line(name: str, ended: Ended) -> Line:
    line = ended.line("benchmarks", name)
    told = [text for text in ended.out.splitlines() if text.startswith(MARK)]
    if told:
        figures = line.figures = json.loads(told[-1].removeprefix(MARK))
        line.detail = f"first step {figures['first_s']:.2f} s, then {figures['step_ms']:.2f} ms (median of {figures['steps']})"
        line.detail += "" if figures["settled"] else ", still warming up"
    return line
