"""Lists of PyTorch's that name ops: each entry is read by the record of the op it names, and one that is left is an error."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ALL: list[Taxonomy] = []


class Taxonomy:
    """Facts by names of ops."""

    def __init__(self, name: str, entries: Mapping[str, Any]):
        self.name, self.entries, self.left = name, entries, set(entries)
        ALL.append(self)

    def take(self, op: str) -> Any:
        """The entry of an op, or None."""
        self.left.discard(op)
        return self.entries.get(op)


def check_all_read() -> None:
    """RuntimeError where a list names what is no op, once all ops are declared."""
    for taxonomy in ALL:
        if taxonomy.left:
            raise RuntimeError(f"the list {taxonomy.name!r} names what is no op: {sorted(taxonomy.left)}")
