"""``jtorch.engine.trace()``: a timeline of what the engine does, in Chrome's trace format.

While a timeline is watching, some functions of the engine are replaced by ones that also read the clock: those that run a call,
end a trace, start a program, compile or wait. They are restored at the end, so the engine costs nothing more without a timeline.
Held-back calls take their usual path through C. The timeline shows them as a *record*, which lists them with their lines.
"""
from __future__ import annotations

import functools
import gzip
import importlib
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from jtorch._base import caller
from jtorch.engine import kernel as kernels
from jtorch.engine import program as programs
from jtorch.engine import schedule, stats, wait

# ``jtorch.engine.trace`` is the function below, so the module of that name is imported by its path.
traces: Any = importlib.import_module("jtorch.engine.trace")
CALLS_SHOWN = 40        # Calls that a record lists at most. A larger value makes larger files.


@dataclass
class Happening:
    """One thing that the engine did. ``start`` is in seconds since the timeline began, ``seconds`` is the duration."""

    kind: str           # One of: call, record, program, compile, wait, catching up, departure, step, user, collective.
    name: str
    start: float
    seconds: float
    thread: int
    details: dict[str, Any] = field(default_factory=dict)


class Timeline:
    """The things that happened while ``jtorch.engine.trace()`` was watching. See ``trace``."""

    def __init__(self) -> None:
        self.happenings: list[Happening] = []
        self._began = perf_counter()
        self._begun: dict[int, float] = {}      # The start of each trace, by the trace's id.
        self._undo: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Timeline:
        if _watching:
            raise RuntimeError("jtorch.engine.trace() is running already; one timeline at a time.")
        _watching.append(self)
        traces.end(natural=False)       # Earlier calls do not belong to the timeline.
        self._began = perf_counter()
        for owner, name, watched in _watched():
            self._undo.append((owner, name, getattr(owner, name)))
            setattr(owner, name, watched(self, getattr(owner, name)))
        return self

    def __exit__(self, *exc_info: object) -> None:
        try:
            traces.synchronize()
        finally:
            for owner, name, original in reversed(self._undo):
                setattr(owner, name, original)
            self._undo.clear()
            _watching.remove(self)

    def add(self, kind: str, name: str, start: float, **details: Any) -> None:
        """Add something that began at ``start`` (of ``perf_counter``) and ends now."""
        end = perf_counter()
        self.happenings.append(Happening(kind, name, start - self._began, end - start, threading.get_ident(), details))

    def counts(self) -> Counter[str]:
        """Return how often each kind of thing happened."""
        return Counter(h.kind for h in self.happenings)

    def events(self) -> list[dict[str, Any]]:
        """Return the events in Chrome's trace format.

        The format is described at https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
        """
        pid, rows = os.getpid(), {h.thread: n for n, h in reversed(list(enumerate(self.happenings)))}
        named = [{"ph": "M", "name": "thread_name", "pid": pid, "tid": n, "args": {"name": f"thread {k}"}}
                 for k, n in enumerate(sorted(rows.values()))]
        return [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "jtorch"}}, *named,
                *[_event(h, pid, rows[h.thread]) for h in sorted(self.happenings, key=lambda h: h.start)]]

    def export_chrome_trace(self, path: str | os.PathLike) -> None:
        """Write the timeline for https://ui.perfetto.dev or chrome://tracing. A name that ends in ``.gz`` compresses it."""
        text = json.dumps({"traceEvents": self.events(), "displayTimeUnit": "ms"})
        opened: Any = gzip.open if str(path).endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8") as file:
            file.write(text)

    def __str__(self) -> str:
        rows: dict[tuple[str, str], list[float]] = {}
        for h in self.happenings:
            rows.setdefault((h.kind, h.name), []).append(h.seconds)
        longest = sorted(rows.items(), key=lambda row: -sum(row[1]))[:30]
        return "\n".join([f"{'':12} {'times':>6} {'total':>11}",
                          *[f"{kind:12} {len(s):6} {sum(s) * 1e3:8.2f} ms  {name}" for (kind, name), s in longest]])

    __repr__ = __str__


_watching: list[Timeline] = []


def trace() -> Timeline:
    """Return a context manager that records a timeline of what the engine does.

    A timeline has each ``call`` that ran alone, with your line. A ``record`` is the calls that were held back until a trace
    ended. Then a ``program`` ran them, or they ran one by one (``catching up``). A ``departure`` is a call that left the
    compiled path. Other things are ``compile``, ``wait``, an optimizer's ``step``, a ``collective``, and ``user`` for a part of
    your program. Watching costs some microseconds for each call that runs alone. Without a timeline the engine does no
    additional work.

    Returns:
        a context manager. ``export_chrome_trace(path)`` writes a file for Perfetto, ``str()`` is a table, ``counts()`` counts
        the things of each kind, and ``happenings`` lists them.

    Raises:
        RuntimeError: inside another ``trace()``.

    Example::

        >>> with torch.engine.trace() as timeline:
        ...     x = torch.ones(3).exp()
        >>> timeline.counts()["call"] > 0
        True

    """
    return Timeline()


def annotate(name: str, start: float, kind: str = "user", **details: Any) -> None:
    """Add a part of the user's program, or a collective, to the timeline if one is watching. It began at ``start``."""
    for timeline in _watching:
        timeline.add(kind, name, start, **details)


def is_watching() -> bool:
    """Return whether a timeline is watching."""
    return bool(_watching)


def _event(h: Happening, pid: int, row: int) -> dict[str, Any]:
    made = {"name": h.name, "cat": h.kind, "pid": pid, "tid": row, "ts": round(h.start * 1e6, 3), "args": h.details}
    if h.kind == "departure":
        return made | {"ph": "i", "s": "t"}
    return made | {"ph": "X", "dur": round(h.seconds * 1e6, 3)}


# ---------------------------------------------------------------- watched functions

Watch = Callable[[Timeline, Callable], Callable]


def _watched() -> Iterator[tuple[Any, str, Watch]]:
    """Yield the watched functions: the module or class, the name, and the maker of the replacement."""
    yield traces, "_computed", _call
    yield traces, "catch_up", _catch_up
    yield traces, "_run", _record
    yield traces.Recorder, "begin", _begin
    yield programs.Program, "start", _timed("program", _of_program)
    yield schedule, "_begin", _timed("compile", _of_trace)
    yield kernels.Kernel, "_compile", _timed("compile", _of_kernel)
    yield wait, "until_ready", _timed("wait", lambda array: ("wait for results", {"line": caller.line()}))


def _call(timeline: Timeline, original: Callable) -> Callable:
    departures = [stats.counters.departures]

    @functools.wraps(original)
    def computed(kernel: Any, arrays: list, *, over: bool = False) -> list:
        start, line = perf_counter(), caller.line()
        if stats.counters.departures != departures[0]:
            departures[0] = stats.counters.departures
            timeline.add("departure", f"departure at {kernel.call.op.name}", start, line=line, why=DEPARTED)
        try:
            return original(kernel, arrays, over=over)
        finally:
            timeline.add("call", kernel.call.op.name, start, line=line, on="host" if kernel.compiled is None else "XLA",
                         inputs=[repr(a) for a in kernel.avals])
    return computed


DEPARTED = "This call is not the one that came here when the program was compiled: what was held back has run call by call."


def _catch_up(timeline: Timeline, original: Callable) -> Callable:
    @functools.wraps(original)
    def catch_up(trace: Any, state: Any, *args: Any, **kwargs: Any) -> None:
        start = perf_counter()
        try:
            original(trace, state, *args, **kwargs)
        finally:
            timeline.add("catching up", "what was held back, call by call", start, calls=_calls(state))
    return catch_up


def _begin(timeline: Timeline, original: Callable) -> Callable:
    @functools.wraps(original)
    def begin(recorder: Any) -> Any:
        made = original(recorder)
        if len(timeline._begun) > 1000:     # Traces that were never run leave entries.
            timeline._begun.clear()
        timeline._begun[id(made)] = perf_counter()
        return made
    return begin


def _record(timeline: Timeline, original: Callable) -> Callable:
    @functools.wraps(original)
    def run(recorder: Any, trace: Any, natural: bool, read: bool, held: bytes | None = None) -> None:
        start = timeline._begun.pop(id(trace), None)
        if start is not None:
            end = "a read" if read else "a step, or a new graph" if natural else "its length"
            timeline.add("record", f"{trace.state.depth} calls held back", start, calls=_calls(trace.state), ended_by=end,
                         line=caller.line())
        try:
            original(recorder, trace, natural, read, held)
        finally:
            timeline._begun[id(recorder.trace)] = perf_counter()        # The next record begins after this run.
    return run


def _calls(state: Any) -> list[str]:
    """Return the calls on the path to a state, with the user's lines. Calls of the same op and line in a row are shown once."""
    shown: list[str] = []
    for s in state.path():
        text = f"{s.call.op.name} at {s.line}"
        if not shown or shown[-1] != text:
            shown.append(text)
    return shown if len(shown) <= CALLS_SHOWN else [*shown[:CALLS_SHOWN], f"… and {len(shown) - CALLS_SHOWN} more"]


def _timed(kind: str, described: Callable[..., tuple[str, dict[str, Any]]]) -> Watch:
    """Return a replacement that adds each run of a function to the timeline.

    ``described`` returns the name and the details from the function's arguments, after the run.
    """
    def watch(timeline: Timeline, original: Callable) -> Callable:
        @functools.wraps(original)
        def timed(*args: Any) -> Any:
            start = perf_counter()
            try:
                return original(*args)
            finally:
                name, details = described(*args)
                timeline.add(kind, name, start, **details)
        return timed
    return watch


def _of_program(program: Any, *_: Any) -> tuple[str, dict[str, Any]]:
    return f"program of {len(program.path)} calls", {"what": program.summary(), "line": program.line,
                                                     "compiled_because": program.why, "run": program.runs}


def _of_trace(trie: Any, trace: Any, held: bytes, why: str, read: bool) -> tuple[str, dict[str, Any]]:
    return f"compile {trace.state.depth} calls", {"line": trace.state.line, "why": why}


def _of_kernel(kernel: Any) -> tuple[str, dict[str, Any]]:
    return f"compile {kernel.call.op.name}", {"line": caller.line(), "why": "a call by itself"}
