"""A line of the report."""
from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

PASSED, FAILED, KNOWN, SKIPPED, LATE = "passed", "failed", "known difference", "skipped", "out of time"


@dataclass
class Line:
    """What was tried, how it went, and what there is to say of it."""

    part: str
    name: str
    status: str
    seconds: float = 0.0
    detail: str = ""
    figures: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def last_words(text: str) -> str:
    """The last line of a program's output that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
