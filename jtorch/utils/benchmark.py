"""torch.utils.benchmark: timing of statements. Deferred calls are computed before the clock is read."""
from __future__ import annotations

import itertools
import statistics
import textwrap
import time
import timeit
from collections.abc import Callable
from typing import Any

from jtorch import cuda, engine

__all__ = ["Measurement", "Timer"]

_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def timer() -> float:
    """Return the time after all deferred calls are computed."""
    engine.synchronize()
    if cuda.is_available():
        cuda.synchronize()
    return time.perf_counter()


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit, and its size, in which ``t`` seconds have one to three digits."""
    return next(((name, size) for name, size in _UNITS if t >= size), _UNITS[-1])


class Measurement:
    """The result of a Timer: the seconds of runs of ``number_per_run`` calls each. See torch.utils.benchmark.Measurement.

    Args:
        number_per_run: the number of calls in a run.
        raw_times: the seconds of each run.
        title: the measurement's title.
        label: a label.
        num_threads: the number of threads, which is shown.

    """

    def __init__(self, number_per_run: int, raw_times: list[float], title: str = "", label: str | None = None,
                 num_threads: int = 1):
        self.number_per_run, self.raw_times, self.title, self.label = number_per_run, raw_times, title, label
        self.num_threads = num_threads

    @property
    def times(self) -> list[float]:
        """The seconds of one call, for each run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of one call in seconds."""
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        """The median of one call in seconds."""
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The interquartile range in seconds."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    def __repr__(self) -> str:
        unit, size = select_unit(self.median)
        runs = len(self.raw_times)
        spread = f"  IQR:    {self.iqr / size:.2f} {unit}\n" if runs > 1 else ""
        count = f"  {runs} measurement{'s' if runs > 1 else ''}, {self.number_per_run} runs "
        what = "Median: " if runs > 1 else ""
        return (f"<{type(self).__module__.replace('jtorch', 'torch')}.Measurement object at {hex(id(self))}>\n{self.title}\n"
                f"  {what}{self.median / size:.2f} {unit}\n{spread}{count}{'per measurement, ' if runs > 1 else ', '}"
                f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}")


class Timer:
    """Times a statement. See torch.utils.benchmark.Timer.

    Args:
        stmt: the statement.
        setup: a statement that runs once before the calls.
        global_setup: accepted and ignored; it concerns C++.
        timer: a function that returns the time in seconds.
        globals: the names that the statements see.
        label: a label of the measurement.
        sub_label: a second label.
        description: a description.
        env: accepted and ignored.
        num_threads: a number that is shown; XLA's threads are set when the process starts.
        language: accepted and ignored; statements are Python.

    >>> timer = torch.utils.benchmark.Timer("x + 1", globals={"x": torch.ones(2)})
    >>> timer.timeit(10).number_per_run
    10

    """

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
                 timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None,
                 label: str | None = None, sub_label: str | None = None, description: str | None = None,
                 env: str | None = None, num_threads: int = 1, language: Any = "py"):
        self.stmt, self.setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        names = dict(globals or {})
        names.setdefault("torch", __import__("jtorch"))
        self._timer = timeit.Timer(self.stmt, self.setup or "pass", timer, names)
        self._title = label or self.stmt.splitlines()[0]
        if sub_label or description:
            self._title = ": ".join(filter(None, (self._title, sub_label or description)))
        self._num_threads = num_threads

    def _measured(self, number: int, raw: list[float]) -> Measurement:
        return Measurement(number, raw, self._title, None, self._num_threads)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Return a measurement of one run of ``number`` calls, after a warm-up."""
        self._timer.timeit(max(number // 100, 2))
        return self._measured(number, [self._timer.timeit(number)])

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Run for ``min_run_time`` seconds, in runs that are long compared with the clock's resolution."""
        number = self._block(min_run_time)
        raw: list[float] = []
        while sum(raw) < min_run_time:
            raw.append(self._timer.timeit(number))
            if callback is not None:
                callback(number, raw[-1])
        return self._measured(number, raw)

    def _block(self, min_run_time: float) -> int:
        for number in itertools.accumulate(itertools.repeat(10), lambda a, b: a * b, initial=1):
            if self._timer.timeit(number) >= min_run_time / 1000:
                return number
        raise AssertionError

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
                           callback: Any = None) -> Measurement:
        """Run until the interquartile range is below ``threshold`` times the median, or the time is over."""
        number = self._block(min_run_time)
        raw: list[float] = []
        while sum(raw) < max_run_time:
            raw.append(self._timer.timeit(number))
            found = self._measured(number, raw)
            if sum(raw) >= min_run_time and len(raw) > 3 and found.iqr < threshold * found.median:
                break
        return self._measured(number, raw)

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError: callgrind cannot see XLA's programs."""
        raise NotImplementedError("Timer.collect_callgrind is not built: the work is in XLA's programs")
