"""A line of the report."""
from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

PASSED, FAILED, KNOWN, SKIPPED, LATE = "passed", "failed", "known difference", "skipped", "out of time"


@dataclass
class Line:
    """A check or program, its outcome, and details."""

    part: str
    name: str
    status: str
    seconds: float = 0.0
    detail: str = ""
    figures: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the line for JSON."""
        return asdict(self)


def last_words(text: str) -> str:
    """Return the last line of a program's output that is not empty, cut to 300 characters; "" if there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
