"""Write docs/differences.md, the differences between jtorch and PyTorch. ``python -m tools.differences``; ``--check`` compares.

The op matrix excuses the differences of this list only. So nothing else differs in the checks of the matrix.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from jtorch.check.differences import DIFFERENCES, GENERAL, Difference
from jtorch.check.statements import NOTHING, REFUSED, STATED, Statement
from tools.pages import write_or_check

PAGE = Path(__file__).parent.parent / "docs" / "differences.md"
INTRO = """\
# Differences between jtorch and PyTorch

`python -m tools.differences` writes this page from `jtorch/check/`. A test fails when the page is out of date.
`python -m jtorch check PATH` lists the names of this page that a project uses, with their lines.
"""
OPS = """\
The op matrix (`tests/ops/test_matrix.py`) compares every op with PyTorch on PyTorch's own samples: values, dtypes, shapes,
gradients, second gradients, methods, in-place forms, `out=` and aliasing. It accepts only the differences listed here.
"""


def stated(kind: str) -> str:
    """Return the table of the statements of one kind."""
    rows = [f"| {_names(one)} | {one.says} | {one.instead} |" for one in STATED if one.kind == kind]
    return "\n".join(["| name | what is so | instead |", "|---|---|---|", *rows])


def _names(one: Statement) -> str:
    argument = f" {'without' if one.without else 'with'} `{one.keyword}=`" if one.keyword else ""
    return ", ".join(f"`{name}`" for name in one.names) + argument


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
    return (f"{INTRO}\n## What does nothing\n\nThese names are accepted and have no effect.\n\n{stated(NOTHING)}\n\n"
            "## What is refused\n\nThese names can be imported. Their use raises `NotImplementedError`, an argument also "
            f"`TypeError`.\n\n{stated(REFUSED)}\n\n## In general\n\n{general}\n\n## In single ops\n\n{OPS}\n{table}\n")


def main(write: Callable[[str], object] = print) -> int:
    """Write the page, or with --check report a stale page."""
    text = page()
    return write_or_check(PAGE, text, "tools.differences", f"{len(DIFFERENCES)} differences", write)


if __name__ == "__main__":
    sys.exit(main())
