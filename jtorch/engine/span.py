"""Integers that differ as a few of them do: on a line, a plane or in a space."""
from __future__ import annotations

from itertools import combinations
from operator import mul, sub

MOST = 8        # integers that differ each in its own way; the lengths of a batch's texts are not what one looks for planes in


class Span:
    """Integers of which each is ``start`` and the unknowns, which are some of them, as often as ``steps`` says."""

    __slots__ = ("at", "rows")

    def __init__(self, at: tuple[int, ...], rows: list[tuple[int, tuple[int, ...]]]):
        self.at, self.rows = at, rows       # which of the integers are the unknowns; (start, steps) of all

    @classmethod
    def through(cls, *points: tuple[int, ...]) -> Span | None:
        """The smallest that has all these points, which are one more than unknowns.

        None if it has more points between, which are no integers' multiples of the differences.
        """
        base = points[0]
        columns = list(zip(*[map(sub, point, base) for point in points[1:]], strict=True))
        different = sorted({column: k for k, column in reversed([*enumerate(columns)])}.values())
        if len(points) > 2 and len(different) > MOST:
            return None
        volumes = {at: abs(_determinant([columns[k] for k in at])) for at in combinations(different, len(points) - 1)}
        at = min([at for at, volume in volumes.items() if volume], key=lambda at: volumes[at], default=None)
        if at is None:
            return None
        rows = []
        for x, column in zip(base, columns, strict=True):
            steps = _combined([columns[k] for k in at], column)
            if steps is None:
                return None
            rows.append((x - sum([base[k] * n for k, n in zip(at, steps, strict=True)]), steps))
        return cls(at, rows)

    def unknowns_of(self, ints: tuple[int, ...]) -> tuple[int, ...] | None:
        """The unknowns of these integers, if they are of it."""
        n = tuple([ints[k] for k in self.at])
        fit = [i == start + sum(map(mul, steps, n)) for i, (start, steps) in zip(ints, self.rows, strict=True)]
        return n if all(fit) else None

    def points(self, n: tuple[int, ...]) -> list[tuple[int, ...]]:
        """As many of it as ``through`` takes, one of them for the unknowns ``n``."""
        given = [n, *[tuple([x + (i == k) for i, x in enumerate(n)]) for k in range(len(n))]]
        return [tuple([start + sum(map(mul, steps, values)) for start, steps in self.rows]) for values in given]


def _determinant(columns: list[tuple[int, ...]]) -> int:
    if not columns:
        return 1
    first, *rest = columns
    return sum([(-1) ** k * x * _determinant([c[:k] + c[k + 1:] for c in rest]) for k, x in enumerate(first) if x])


def _combined(columns: list[tuple[int, ...]], wanted: tuple[int, ...]) -> tuple[int, ...] | None:
    """How often each column goes into ``wanted``, by Cramer's rule; None if that is no integer."""
    whole = _determinant(columns)
    parts = [divmod(_determinant([*columns[:k], wanted, *columns[k + 1:]]), whole) for k in range(len(columns))]
    return None if any([left for _, left in parts]) else tuple([n for n, _ in parts])
