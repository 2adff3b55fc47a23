"""Write docs/differences.md, the differences between ops and PyTorch's. ``python -m tools.differences``; ``--check``
compares.

The op matrix excuses the differences of this list only. So nothing else differs in the checks of the matrix.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from tests.ops.known_differences import DIFFERENCES, GENERAL, Difference
from tools.pages import write_or_check

PAGE = Path(__file__).parent.parent / "docs" / "differences.md"
INTRO = """\
# Differences between jtorch's ops and PyTorch's

`python -m tools.differences` writes this page from `tests/ops/known_differences.py`. A test fails when the page is out of
date. The op matrix (`tests/ops/test_matrix.py`) compares every op with PyTorch on PyTorch's own samples: values, dtypes,
shapes, gradients, second gradients, methods, in-place forms, `out=` and aliasing. It accepts only the differences listed
here.

## In general
"""


def row(reason: str, same: list[Difference]) -> str:
    """Return the row of all ops with the same reason."""
    ops = ", ".join(f"`{op}`" for op in dict.fromkeys(d.op for d in same))
    dtypes = ", ".join(dict.fromkeys(t for d in same for t in d.dtypes)) or "all"
    checks = ", ".join(dict.fromkeys(c for d in same for c in d.checks))
    return f"| {ops} | {checks} | {dtypes} | {reason} |"


def page() -> str:
    """Return the text of docs/differences.md."""
    grouped = [(reason, list(same)) for reason, same in groupby(DIFFERENCES, lambda d: d.reason)]
    rows = [row(reason, same) for reason, same in grouped]
    general = "\n".join(f"- {line}" for line in GENERAL)
    table = "\n".join(["| op | of | dtypes | difference |", "|---|---|---|---|", *rows])
    return f"{INTRO}\n{general}\n\n## In single ops\n\n{table}\n"


def main(write: Callable[[str], object] = print) -> int:
    """Write the page, or with --check report a stale page."""
    text = page()
    return write_or_check(PAGE, text, "tools.differences", f"{len(DIFFERENCES)} differences", write)


if __name__ == "__main__":
    sys.exit(main())
