"""Find the repetitions of a long sequence of calls, such as the layers of a net. Cuts between repetitions give equal pieces.

Equal programs are compiled once (``program.py``). So a net of many equal layers takes as long to compile as a few of them.
"""
from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import ceil, inf
from typing import NamedTuple

import numpy as np

from jtorch.engine import cost, policy


class Run(NamedTuple):
    """A sequence of ``times`` equal periods, one after the other. Each takes ``seconds`` to compile."""

    start: int
    period: int
    times: int
    seconds: float

    @property
    def stop(self) -> int:
        """The end of the last period."""
        return self.start + self.period * self.times

    @property
    def saved(self) -> float:
        """The seconds of compile time that all periods but the first would repeat."""
        return self.seconds * (self.times - 1)

    def cuts(self, running: float) -> list[int]:
        """Return the start of the first piece and the ends of all pieces. Each piece has equally many periods.

        Each period runs for ``running`` seconds. Periods left over at the end are in no piece.
        """
        least = max(1, ceil(policy.PIECE / self.seconds), ceil(policy.shortest_piece() / running))
        together = min(range(least, self.times // 2 + 1), key=self._cost, default=self.times)
        return [self.start + self.period * together * k for k in range(self.times // together + 1)]

    def _cost(self, together: int) -> float:
        return (together + self.times % together) * self.seconds + cost.COMPILING_PROGRAM * (self.times // together)


def cuts(items: Sequence[Hashable], seconds: Sequence[float], running: Sequence[float] | None = None,
         longest: int | None = None) -> list[int]:
    """Return the sorted positions of cuts between equal pieces; none if they would save little.

    ``seconds`` is the compile time of each item, ``running`` its time in each run. With ``running`` no piece is so short that
    its start would take a large share of its time. ``longest`` is the upper limit for a period, in items.
    """
    names: dict[Hashable, int] = {}
    numbers = np.array([names.setdefault(x, len(names)) for x in items])
    found = _runs(numbers, np.cumsum([0.0, *seconds]), 0, longest or len(items))
    places = [run.cuts(inf if running is None else sum(running[run.start:run.start + run.period])) for run in found]
    return sorted({at for some in places if len(some) > 2 for at in some})


def _runs(items: np.ndarray, before: np.ndarray, at: int, longest: int) -> list[Run]:
    """Return the run that saves most, and the runs before and after it.

    ``at`` is the position of the items in the whole sequence. ``before`` has the seconds before each position of that sequence.
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
    """Return the longest run with this period."""
    differ = np.flatnonzero(items[period:] != items[:-period])
    edges = np.concatenate([[-1], differ, [len(items) - period]])
    lengths = np.diff(edges) - 1
    k = int(np.argmax(lengths))
    start = int(edges[k]) + 1
    return Run(start, period, (int(lengths[k]) + period) // period, float(before[start + period] - before[start]))
