"""The tests of ``tests/core`` with ``cuda`` as jtorch's default device.

They were written for the CPU: some take a tensor's NumPy array, or compare its text. The error's text shows such a failure, and
the report counts it apart.
"""
from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from tools.gpu.child import ROOT, Ended, run
from tools.gpu.line import FAILED, LATE, PASSED, SKIPPED, Line

WANTS_CPU = re.compile(r"cuda:0 device type tensor to numpy|at least two devices|device='cuda:0'|'cuda:0'|Cannot take the DLPack"
                       r"|share_memory|device\(type='cuda'")
LIMIT = 60.0        # Limit of a file in seconds.
# Upper limit for files at a time. Each file compiles, and all share the GPU.
SIDE_BY_SIDE = max(1, (os.cpu_count() or 1) // 2)
OF_THE_CPU = ("test_data_ptr.py",)      # This file reads memory at the addresses of tensors.
QUICK = ("test_views.py",)


def run_all(seconds: float, tiny: bool) -> Iterator[Line]:
    """Run the files, several at a time, within this many seconds. Yield a line for each."""
    if find_spec("pytest") is None:
        yield Line("core tests", "tests/core", SKIPPED, detail="pytest is not installed")
        return
    files = [path for path in sorted((ROOT / "tests" / "core").glob("test_*.py"))
             if path.name not in OF_THE_CPU and (not tiny or path.name in QUICK)]
    until = time.monotonic() + seconds
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        yield from pool.map(lambda path: _file(path, until, tiny), files)


def _file(path: Path, until: float, tiny: bool) -> Line:
    limit = min(until - time.monotonic(), LIMIT if not tiny else 120)
    if limit < 1:
        return Line("core tests", path.name, LATE, detail="the part's time was up")
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tools.gpu.pytest_cuda",
                     "--cuda-results", str(results), *(["--cuda-stand-in"] if tiny else []), str(path)]
        ended = run(arguments, limit, tiny)
        told = [json.loads(text) for text in results.read_text().splitlines()] if results.exists() else []
    return _line(path.name, ended, told)


def _line(name: str, ended: Ended, told: list[list[str]]) -> Line:
    counts = Counter(outcome for _, outcome, _ in told)
    failed = [(test, text) for test, outcome, text in told if outcome == "failed"]
    own = [(test, text) for test, text in failed if WANTS_CPU.search(text)]
    others = [(test, text) for test, text in failed if not WANTS_CPU.search(text)]
    figures = {"passed": counts["passed"], "skipped": counts["skipped"], "failed": len(others), "written for the CPU": len(own),
               "failures": [f"{test}: {text[:200]}" for test, text in others]}
    status = LATE if ended.code is None else FAILED if others or ended.code not in (0, 1, 5) else PASSED
    detail = f"{counts['passed']} passed, {len(others)} failed, {len(own)} want the CPU, {counts['skipped']} skipped"
    if not told and ended.code:
        detail = ended.line("", "").detail
    elif others:
        detail += f"; first: {others[0][0]}: {others[0][1][:160]}"
    return Line("core tests", name, status, ended.seconds, detail, figures)
