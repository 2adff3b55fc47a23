"""PyTorch's lists of ops. The record of each op takes its entry; an entry without an op is an error."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ALL: list[Taxonomy] = []


class Taxonomy:
    """A list of facts by op name."""

    def __init__(self, name: str, entries: Mapping[str, Any]):
        self.name, self.entries, self.left = name, entries, set(entries)
        ALL.append(self)

    def take(self, op: str) -> Any:
        """Return the entry of an op, or None."""
        self.left.discard(op)
        return self.entries.get(op)


def check_all_read() -> None:
    """Raise RuntimeError if a list names an unknown op. All ops must be declared before."""
    for taxonomy in ALL:
        if taxonomy.left:
            raise RuntimeError(f"the list {taxonomy.name!r} names what is no op: {sorted(taxonomy.left)}")
