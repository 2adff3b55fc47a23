"""Where a long sequence of calls repeats itself: cut there, as between the layers of a net, its pieces are alike.

Programs that are alike are compiled once (``program.py``), so what a net of many equal layers costs to compile is what a few
of them cost.
"""
from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import ceil
from typing import NamedTuple

import numpy as np

from jtorch.engine import policy


class Run(NamedTuple):
    """A stretch of ``times`` periods, one behind the other, each of which compiles in ``seconds``."""

    start: int
    period: int
    times: int
    seconds: float

    @property
    def stop(self) -> int:
        """Where the last of its periods ends."""
        return self.start + self.period * self.times

    @property
    def saved(self) -> float:
        """The seconds of compiling that repeat others."""
        return self.seconds * (self.times - 1)

    def cuts(self) -> list[int]:
        """The ends of its pieces: some periods each, the same number. What is left over at its end is in none."""
        least = max(1, ceil(policy.PIECE / self.seconds))
        together = min(range(least, self.times // 2 + 1), key=self._cost, default=self.times)
        return [self.start + self.period * together * k for k in range(self.times // together + 1)]

    def _cost(self, together: int) -> float:
        return (together + self.times % together) * self.seconds + policy.PIECE_COSTS * (self.times // together)


def cuts(items: Sequence[Hashable], seconds: Sequence[float], longest: int | None = None) -> list[int]:
    """The places at which to cut between equal pieces, in order; none if little would be saved. ``seconds`` to compile each.

    ``longest``: of a period, in items.
    """
    names: dict[Hashable, int] = {}
    numbers = np.array([names.setdefault(x, len(names)) for x in items])
    found = _runs(numbers, np.cumsum([0.0, *seconds]), 0, longest or len(items))
    places = [run.cuts() for run in found]
    return sorted({at for some in places if len(some) > 2 for at in some})


def _runs(items: np.ndarray, before: np.ndarray, at: int, longest: int) -> list[Run]:
    """The run that saves most, and those in front of it and behind; ``at`` is where the items stand, ``before`` the seconds
    in front of each place.
    """
    if before[at + len(items)] - before[at] <= policy.SAVED:
        return []
    periods = range(1, min(len(items) // 3, longest) + 1)
    best = max((_longest(items, period, before[at:]) for period in periods), key=_merit, default=None)
    if best is None or best.saved < policy.SAVED:
        return []
    here = best._replace(start=at + best.start)
    return [*_runs(items[:best.start], before, at, longest), here, *_runs(items[best.stop:], before, here.stop, longest)]


def _merit(run: Run) -> tuple[float, int]:
    return run.saved, -run.start


def _longest(items: np.ndarray, period: int, before: np.ndarray) -> Run:
    """The longest run of that period."""
    differ = np.flatnonzero(items[period:] != items[:-period])
    edges = np.concatenate([[-1], differ, [len(items) - period]])
    lengths = np.diff(edges) - 1
    k = int(np.argmax(lengths))
    start = int(edges[k]) + 1
    return Run(start, period, (int(lengths[k]) + period) // period, float(before[start + period] - before[start]))
