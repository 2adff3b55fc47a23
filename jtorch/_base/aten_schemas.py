"""The schemas of PyTorch's operators, as texts. ``python -m tools.aten_schemas`` writes ``aten_schemas.txt``."""
from __future__ import annotations

import functools
import re
from pathlib import Path


@functools.cache
def schemas() -> dict[str, list[str]]:
    """Return the texts of all schemas by operator name."""
    found: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("aten_schemas.txt").read_text().splitlines():
        found.setdefault(line[:line.index("(")].partition(".")[0], []).append(line)
    return found


@functools.cache
def is_symbolic(operator: str, argument: str) -> bool:
    """Return whether an argument is a SymInt, or a list of SymInts, in an overload of an operator."""
    declared = re.compile(rf"\bSymInt(\[\d*\])?\?? {re.escape(argument)}\b")
    return any(declared.search(text) for text in schemas().get(operator, ()))


@functools.cache
def argument_counts(operator: str) -> tuple[tuple[int, int], ...]:
    """Return the (smallest, largest) number of arguments of each overload that returns its results."""
    texts = [text for text in schemas().get(operator, ()) if "!)" not in text.partition("*, ")[2]]
    return tuple([_count(text) for text in texts])


def _count(schema: str) -> tuple[int, int]:
    text = re.sub(r"\[[^]]*\]", "", schema[schema.index("(") + 1:schema.rindex(") ->")])     # Defaults may be lists.
    declared = [part for part in text.split(", ") if part != "*"]
    return len([part for part in declared if "=" not in part]), len(declared)
