"""``python -m tools.gpu [FOLDER] [--tiny] [--only PARTS]``: run all parts within their time, and write the report."""
from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools.gpu import report
from tools.gpu.checks import MARK
from tools.gpu.child import run
from tools.gpu.line import FAILED, LATE, Line

WHOLE = 570.0       # Limit of the whole run in seconds.
# The parts in their order, with their limits in seconds. A part passes its unused time on.
PARTS = {"checks": 90.0, "examples": 100.0, "core tests": 110.0, "benchmarks": 260.0}


def _checks(seconds: float, tiny: bool) -> Iterator[Line]:
    ended = run(["-m", "tools.gpu.checks", *(["--stand-in"] if tiny else [])], seconds, tiny)
    told = [text for text in ended.out.splitlines() if text.startswith(MARK)]
    if told:
        yield from [Line(**line) for line in json.loads(told[-1].removeprefix(MARK))]
    else:
        yield ended.line("checks", "all checks")


def _runner(part: str, machine: dict[str, Any]) -> Callable[[float, bool], Iterator[Line]]:
    """Return the function that runs a part. It is imported late, so a failing import is a line of its own."""
    if part == "checks":
        return _checks
    if part == "examples":
        from tools.gpu import examples
        return examples.run_all
    if part == "core tests":
        from tools.gpu import core_tests
        return core_tests.run_all
    from tools.gpu import bench
    return lambda seconds, tiny: bench.run_all(seconds, tiny, machine)


def _lines(parts: list[str], machine: dict[str, Any], tiny: bool, until: float) -> Iterator[Line]:
    """Yield the lines of all parts. A part passes its unused time on to later parts."""
    spare = 0.0
    for part in parts:
        start = time.monotonic()
        seconds = min(PARTS[part] + spare, until - start)
        try:
            yield from _runner(part, machine)(seconds, tiny)
        except Exception as error:
            yield Line(part, "all of it", FAILED, time.monotonic() - start, f"{type(error).__name__}: {error}")
        spare = max(0.0, seconds - (time.monotonic() - start))


def _machine() -> dict[str, Any]:
    """Describe the machine in a process of its own, so this process starts neither JAX nor CUDA."""
    ended = run(["-m", "tools.gpu.machine"], 60, tiny=False)
    if ended.code == 0:
        return json.loads(ended.out.splitlines()[-1])
    return {"gpus": [], "pytorch": None, "pytorch_has_cuda": False, "error": ended.line("", "").detail}


def main() -> int:
    """Run the parts. Return 1 if a line failed or ran out of time."""
    parser = argparse.ArgumentParser("scripts/gpu", description=__doc__)
    parser.add_argument("folder", nargs="?", default="gpu-report", help="where the report goes")
    parser.add_argument("--tiny", action="store_true", help="JAX's CPU device in the GPU's place, as where there is no GPU")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between: %(default)s")
    given = parser.parse_args()
    parts = given.only.split(",")
    if unknown := set(parts) - PARTS.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    start, machine, lines = time.monotonic(), _machine(), []
    tiny = given.tiny or not machine["gpus"]
    for line in _lines(parts, machine, tiny, start + WHOLE):
        lines.append(line)
        print(f"{line.part}: {line.name}: {line.status} {line.detail}", flush=True)
        report.write(Path(given.folder), machine, lines, tiny, time.monotonic() - start)
    print(f"The report is {Path(given.folder) / 'report.md'}")
    return int(any(line.status in (FAILED, LATE) for line in lines))


if __name__ == "__main__":
    raise SystemExit(main())
