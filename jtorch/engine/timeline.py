"""``jtorch.engine.trace()``: what the engine does in a stretch of a program, as a timeline in Chrome's trace format.

Nothing of it is there until somebody asks: the functions that the engine reaches by name when it runs a call, ends a trace,
starts a program, compiles or waits are replaced by ones that look at the clock, and put back at the end. Calls that are held
back take their usual way through C. They are shown as what they become: a *record* that lists them with their lines.
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

# ``jtorch.engine.trace`` is the function below, so the module of that name is asked for by its path.
traces: Any = importlib.import_module("jtorch.engine.trace")
CALLS_SHOWN = 40        # of a record; a longer one says how many more


@dataclass
class Happening:
    """One thing that the engine did: its kind, what, when (seconds since the timeline began), for how long, in which thread."""

    kind: str           # call, record, program, compile, wait, catching up, departure, step, user, collective
    name: str
    start: float
    seconds: float
    thread: int
    details: dict[str, Any] = field(default_factory=dict)


class Timeline:
    """What happened while ``jtorch.engine.trace()`` watched; see there."""

    def __init__(self) -> None:
        self.happenings: list[Happening] = []
        self._began = perf_counter()
        self._begun: dict[int, float] = {}      # by trace: when it began
        self._undo: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Timeline:
        if _watching:
            raise RuntimeError("jtorch.engine.trace() is running already; one timeline at a time.")
        _watching.append(self)
        traces.end(natural=False)       # what is before does not belong here
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
        """Notes something that began at ``start`` (of ``perf_counter``) and ends now."""
        end = perf_counter()
        self.happenings.append(Happening(kind, name, start - self._began, end - start, threading.get_ident(), details))

    def counts(self) -> Counter[str]:
        """How often each kind of thing happened."""
        return Counter(h.kind for h in self.happenings)

    def events(self) -> list[dict[str, Any]]:
        """The events of the Chrome trace format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU."""
        pid, rows = os.getpid(), {h.thread: n for n, h in reversed(list(enumerate(self.happenings)))}
        named = [{"ph": "M", "name": "thread_name", "pid": pid, "tid": n, "args": {"name": f"thread {k}"}}
                 for k, n in enumerate(sorted(rows.values()))]
        return [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "jtorch"}}, *named,
                *[_event(h, pid, rows[h.thread]) for h in sorted(self.happenings, key=lambda h: h.start)]]

    def export_chrome_trace(self, path: str | os.PathLike) -> None:
        """Writes the timeline for https://ui.perfetto.dev or chrome://tracing; a name that ends in ``.gz`` compresses."""
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
    """Watches the engine: a context manager that gives a timeline of what it does.

    A timeline has *calls* that ran one by one, with your lines; *records*, the calls held back between two ends of a trace;
    the *programs* that ran them; *compile*; *wait*; *departure*, where a call left what was compiled, and *catching up*.
    Watching costs some microseconds a call that runs by itself; where nobody watches it costs nothing.

    Returns:
        a context manager. ``export_chrome_trace(path)`` writes it for Perfetto, ``str()`` is a table, ``counts()`` says how often
        each kind of thing happened, ``happenings`` are the things themselves.

    Raises:
        RuntimeError: inside of another ``trace()``.

    Example::

        >>> with torch.engine.trace() as timeline:
        ...     x = torch.ones(3).exp()
        >>> timeline.counts()["call"] > 0
        True

    """
    return Timeline()


def annotate(name: str, start: float, kind: str = "user", **details: Any) -> None:
    """Adds a stretch of the user's own, or of a collective, begun at ``start``, to the timeline that is being made, if any."""
    for timeline in _watching:
        timeline.add(kind, name, start, **details)


def is_watching() -> bool:
    """Whether a timeline is being made."""
    return bool(_watching)


def _event(h: Happening, pid: int, row: int) -> dict[str, Any]:
    made = {"name": h.name, "cat": h.kind, "pid": pid, "tid": row, "ts": round(h.start * 1e6, 3), "args": h.details}
    if h.kind == "departure":
        return made | {"ph": "i", "s": "t"}
    return made | {"ph": "X", "dur": round(h.seconds * 1e6, 3)}


# ---------------------------------------------------------------- what is watched, and how

Watch = Callable[[Timeline, Callable], Callable]


def _watched() -> Iterator[tuple[Any, str, Watch]]:
    """Where something happens: the module or class, the name, and what stands there meanwhile."""
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
        if len(timeline._begun) > 1000:     # of traces that came to nothing
            timeline._begun.clear()
        timeline._begun[id(made)] = perf_counter()
        return made
    return begin


def _record(timeline: Timeline, original: Callable) -> Callable:
    @functools.wraps(original)
    def run(recorder: Any, trace: Any, natural: bool, read: bool) -> None:
        start = timeline._begun.pop(id(trace), None)
        if start is not None:
            end = "a read" if read else "a step, or a new graph" if natural else "its length"
            timeline.add("record", f"{trace.state.depth} calls held back", start, calls=_calls(trace.state), ended_by=end,
                         line=caller.line())
        try:
            original(recorder, trace, natural, read)
        finally:
            timeline._begun[id(recorder.trace)] = perf_counter()        # the next record begins behind what this one runs
    return run


def _calls(state: Any) -> list[str]:
    """The calls on the way to a state, as the user's lines, runs of the same line and op together."""
    shown: list[str] = []
    for s in state.path():
        text = f"{s.call.op.name} at {s.line}"
        if not shown or shown[-1] != text:
            shown.append(text)
    return shown if len(shown) <= CALLS_SHOWN else [*shown[:CALLS_SHOWN], f"… and {len(shown) - CALLS_SHOWN} more"]


def _timed(kind: str, described: Callable[..., tuple[str, dict[str, Any]]]) -> Watch:
    """Shows how long a function takes; ``described`` says of its arguments, behind it, what it was, and details."""
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
