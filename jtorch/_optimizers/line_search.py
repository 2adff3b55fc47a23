"""A line search for the strong Wolfe conditions. Source: Nocedal and Wright, Numerical Optimization (2006), chapter 3."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Numbers = tuple[float, float, float]        # (position on the line, loss, slope)


class StrongWolfe:
    """A line search for a point of sufficient decrease and small slope: Nocedal and Wright, algorithms 3.5 and 3.6.

    Slopes and step lengths are NumPy scalars of the parameters' dtype. PyTorch uses tensors of that dtype, so the
    rounding is the same.
    """

    def __init__(self, evaluate: Callable[[float], tuple[float, Any]], d: Any, loss: float, grad: Any, slope: float, budget: int,
                 decrease: float = 1e-4, flatness: float = 0.9, tolerance: float = 1e-9):
        self.evaluate, self.d, self.budget, self.evaluations = evaluate, d, budget, 0
        self.decrease, self.flatness = decrease, flatness
        self.tolerance = tolerance      # The search ends where a bracket is so narrow that no parameter changes by this much.
        self.scalar = scalar_of(grad)
        self.loss, self.slope = loss, self.scalar(slope)
        self.grads = {0.0: grad}

    def at(self, t: float) -> Numbers:
        """Return the numbers at ``t`` along the line."""
        loss, self.grads[t] = self.evaluate(float(t))
        self.evaluations += 1
        return t, loss, self.scalar(float(self.grads[t].dot(self.d)))

    def find(self, t: float) -> tuple[float, float, Any]:
        """Return the step length, and the loss and gradient at that point."""
        with np.errstate(all="ignore"):     # As in PyTorch, comparing NaN or infinity gives no warning.
            low, high = self._bracket(t)
            if low is not high:
                low = self._zoom(low, high)
        return float(low[0]), low[1], self.grads[low[0]]

    def _too_high(self, point: Numbers) -> bool:
        return point[1] > self.loss + self.decrease * point[0] * self.slope

    def _flat_enough(self, point: Numbers) -> bool:
        return abs(point[2]) <= -self.flatness * self.slope

    def _bracket(self, t: float) -> tuple[Numbers, Numbers]:
        """Return two points that bracket an acceptable one, the lower loss first; an acceptable point is returned
        twice.
        """
        before, here, self.tries = (0.0, self.loss, self.slope), self.at(t), 0
        while self.tries < self.budget:
            if self._too_high(here) or (self.tries > 1 and here[1] >= before[1]):
                return _lower_first(before, here)
            if self._flat_enough(here):
                return here, here
            if here[2] >= 0:
                return _lower_first(before, here)
            t = cubic_minimum(before, here, (here[0] + 0.01 * (here[0] - before[0]), here[0] * 10))
            before, here = here, self.at(t)
            self.tries += 1
        return _lower_first((0.0, self.loss, self.slope), here)

    def _zoom(self, low: Numbers, high: Numbers) -> Numbers:
        widest, careful = self.scalar(float(self.d.abs().max())), False
        while self.tries < self.budget and abs(high[0] - low[0]) * widest >= self.tolerance:
            t, careful = _between(low, high, careful)
            here = self.at(t)
            self.tries += 1
            if self._too_high(here) or here[1] >= low[1]:
                low, high = _lower_first(low, here)
                continue
            if self._flat_enough(here):
                return here
            high = low if here[2] * (high[0] - low[0]) >= 0 else high
            low = here
        return low


def scalar_of(t: Any) -> type:
    """Return NumPy's scalar type with the precision of 0-dim tensors like ``t``."""
    return np.float64 if t.dtype.itemsize == 8 else np.float32


def _lower_first(a: Numbers, b: Numbers) -> tuple[Numbers, Numbers]:
    return (a, b) if a[1] <= b[1] else (b, a)


def _between(a: Numbers, b: Numbers, careful: bool) -> tuple[float, bool]:
    """Return the next point to try: the cubic's minimum, moved inward if it is close to an end twice in a row."""
    left, right = sorted((a[0], b[0]))
    t, margin = cubic_minimum(a, b), 0.1 * (right - left)
    if min(right - t, t - left) >= margin:
        return t, False
    if careful or t >= right or t <= left:
        return (right - margin if abs(t - right) < abs(t - left) else left + margin), False
    return t, True


def cubic_minimum(a: Numbers, b: Numbers, bounds: tuple[float, float] | None = None) -> float:
    """Return the minimum, within bounds, of the cubic through two points with slopes. Nocedal and Wright, (3.59)."""
    (x1, f1, g1), (x2, f2, g2) = sorted((a, b), key=lambda p: p[0])
    low, high = bounds or (x1, x2)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if not square >= 0:
        return (low + high) / 2.0
    d2 = np.sqrt(square)
    return min(max(x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2)), low), high)
