"""Affine sizes: tuples of integers that depend linearly on a few unknowns, as the points of a line, a plane or a space do."""
from __future__ import annotations

from itertools import combinations
from operator import mul, sub

from jtorch.engine import policy


class AffineSizes:
    """Tuples of integers in which each integer is a ``start`` plus a sum of ``steps`` times unknowns.

    The unknowns are some of the integers themselves.
    """

    __slots__ = ("at", "rows")

    def __init__(self, at: tuple[int, ...], rows: list[tuple[int, tuple[int, ...]]]):
        self.at, self.rows = at, rows       # The positions of the unknowns, and (start, steps) of each integer.

    @classmethod
    def through(cls, *points: tuple[int, ...]) -> AffineSizes | None:
        """Return the smallest span through these points. It has one unknown fewer than there are points.

        Return None if the steps would not be integers, if fewer unknowns would do, or if too many integers could be unknowns.
        """
        base = points[0]
        columns = list(zip(*[map(sub, point, base) for point in points[1:]], strict=True))
        different = sorted({column: k for k, column in reversed([*enumerate(columns)])}.values())
        if len(points) > 2 and len(different) > policy.OFTEN:
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
        """Return the unknowns of these integers; None if the integers are outside of the span."""
        n = tuple([ints[k] for k in self.at])
        fit = [i == start + sum(map(mul, steps, n)) for i, (start, steps) in zip(ints, self.rows, strict=True)]
        return n if all(fit) else None

    def points(self, n: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return points of the span from which ``through`` makes it again. The first has the unknowns ``n``."""
        given = [n, *[tuple([x + (i == k) for i, x in enumerate(n)]) for k in range(len(n))]]
        return [tuple([start + sum(map(mul, steps, values)) for start, steps in self.rows]) for values in given]


def _determinant(columns: list[tuple[int, ...]]) -> int:
    if not columns:
        return 1
    first, *rest = columns
    return sum([(-1) ** k * x * _determinant([c[:k] + c[k + 1:] for c in rest]) for k, x in enumerate(first) if x])


def _combined(columns: list[tuple[int, ...]], wanted: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the integer coefficients of ``wanted`` in the columns, by Cramer's rule; None if one is no integer."""
    whole = _determinant(columns)
    parts = [divmod(_determinant([*columns[:k], wanted, *columns[k + 1:]]), whole) for k in range(len(columns))]
    return None if any([left for _, left in parts]) else tuple([n for n, _ in parts])
