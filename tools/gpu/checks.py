"""Small checks of PyTorch's documented behaviour on a GPU, a line for each: ``python -m tools.gpu.checks
[--stand-in]``.
"""
from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from tools.gpu.line import FAILED, KNOWN, PASSED, SKIPPED, Line
from tools.gpu.stand_in import jtorch_with

MARK = "checks: "       # The line of the result begins with this text.


class Check(NamedTuple):
    """A function of the library that raises on an error. ``known`` is the reason for an expected failure.

    ``needs_gpu`` skips the check with a CPU in the GPU's place.
    """

    name: str
    run: Callable[[Any], None]
    known: str = ""
    needs_gpu: bool = False


def line_of(check: Check, torch: Any, stand_in: bool) -> Line:
    """Run a check and return its line."""
    if check.needs_gpu and stand_in:
        return Line("checks", check.name, SKIPPED, detail="JAX keeps no statistics of a CPU's memory")
    start = time.perf_counter()
    status, detail = PASSED, ""
    try:
        check.run(torch)
    except Exception as error:
        status = KNOWN if check.known else FAILED
        first = str(error).split("\n")[0]
        detail = check.known or f"{type(error).__name__}: {first}"[:300]
    return Line("checks", check.name, status, time.perf_counter() - start, detail)


def every_check() -> list[Check]:
    """Return all checks in the order of the report."""
    from tools.gpu import check_attention, check_moves, check_runtime, check_training
    return [*check_attention.CHECKS, *check_moves.CHECKS, *check_runtime.CHECKS, *check_training.CHECKS]


def main() -> None:
    """Print the lines."""
    stand_in = "--stand-in" in sys.argv
    torch = jtorch_with(stand_in)
    print(MARK + json.dumps([line_of(check, torch, stand_in).as_dict() for check in every_check()]))


if __name__ == "__main__":
    main()
