"""A queue of ready nodes in the order of PyTorch's engine.

PyTorch keeps ready nodes in a ``std::priority_queue``, ordered by sequence number. All nodes of leaves have the same number,
and a binary heap returns equal entries in an order of its own. Hooks see that order, so this module copies libstdc++'s heap
(``push_heap`` and ``__adjust_heap`` in bits/stl_heap.h).
"""
from __future__ import annotations

import heapq
from typing import Any


class ReadyQueue(list):
    """A binary heap of tuples that begin with the key; the least key comes first."""

    def push(self, entry: tuple) -> None:
        """Add an entry."""
        self.append(entry)
        self._rise(len(self) - 1)

    def pop_first(self) -> tuple:
        """Remove the entry with the least key and return it."""
        first, last, hole = self[0], self.pop(), 0
        if not self:
            return first
        while 2 * hole + 2 < len(self):
            child = 2 * hole + 2
            if self[child][0] > self[child - 1][0]:
                child -= 1
            self[hole], hole = self[child], child
        if 2 * hole + 2 == len(self):
            self[hole], hole = self[2 * hole + 1], 2 * hole + 1
        self[hole] = last
        self._rise(hole)
        return first

    def _rise(self, at: int) -> None:
        entry = self[at]
        while at and entry[0] < self[(at - 1) // 2][0]:
            self[at], at = self[(at - 1) // 2], (at - 1) // 2
        self[at] = entry


def push(heap: list, entry: tuple) -> None:
    """Add an entry to a ``ReadyQueue`` or to a plain list that ``heapq`` orders."""
    if isinstance(heap, ReadyQueue):
        heap.push(entry)
    else:
        heapq.heappush(heap, entry)


def pop(heap: list) -> Any:
    """Remove the first entry of a ``ReadyQueue`` or of a plain list that ``heapq`` orders, and return it."""
    return heap.pop_first() if isinstance(heap, ReadyQueue) else heapq.heappop(heap)
