"""The differences that the op matrix excuses: those of ``jtorch/check/differences.py``."""
from __future__ import annotations

from jtorch.check.differences import DIFFERENCES


def sorted_out(op: str, dtype: str, wrong: dict[str, list[str]]) -> tuple[list[str], list]:
    """Return the unexplained failures, and the known differences that showed."""
    unknown, known = [], []
    for check, texts in wrong.items():
        for text in texts:
            covering = [d for d in DIFFERENCES if d.covers(op, dtype, check, text)]
            known += covering
            if not covering:
                unknown.append(f"  {check}: {text}")
    return unknown, known
