"""torch.autograd.profiler_util: a profiler's events as lists and tables. The source is ``jtorch.engine.trace()``."""
from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jtorch.engine.timeline import Happening, Timeline

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg"]
# The kinds of events to list. Records are left out, since they span the user's own code too. Departures are left out, since
# they have no duration.
SHOWN = ("call", "program", "compile", "catching up", "wait", "user", "collective")


class FunctionEvent:
    """One event, with times in microseconds. See torch.autograd.profiler_util.FunctionEvent."""

    def __init__(self, happening: Happening):
        self.name = self.key = happening.name
        self.kind, self.thread, self.details = happening.kind, happening.thread, happening.details
        self.start, self.cpu_time_total = happening.start * 1e6, happening.seconds * 1e6
        self.self_cpu_time_total = self.cpu_time_total
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.count, self.input_shapes = 1, happening.details.get("inputs", [])
        self.is_async = happening.kind == "collective"
        self.stack = [happening.details["line"]] if "line" in happening.details else []

    @property
    def end(self) -> float:
        """Return the time at which the event ended, in microseconds."""
        return self.start + self.cpu_time_total

    cpu_time = property(lambda self: self.cpu_time_total / self.count, doc="On average.")

    def __repr__(self):
        return f"<FunctionEvent name={self.name} thread={self.thread} cpu_time={self.cpu_time_total:.3f}us>"


class FunctionEventAvg:
    """All events of one name. See torch.autograd.profiler_util.FunctionEventAvg."""

    def __init__(self, key: str, events: list[FunctionEvent]):
        self.key, self.count = key, sum(e.count for e in events)
        self.cpu_time_total = sum(e.cpu_time_total for e in events)
        self.self_cpu_time_total = sum(e.self_cpu_time_total for e in events)
        self.input_shapes, self.stack = events[0].input_shapes, events[0].stack

    cpu_time = property(lambda self: self.cpu_time_total / self.count, doc="On average.")

    def __repr__(self):
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={_time(self.self_cpu_time_total)} "
                f"cpu_time={_time(self.cpu_time)} count={self.count}>")


class EventList(list):
    """A list of events, or of averages of events. See torch.autograd.profiler_util.EventList."""

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """Group the events by name, and by shapes and lines if asked."""
        groups: dict[tuple, list[FunctionEvent]] = {}
        for e in self:
            key = (e.name, str(e.input_shapes) if group_by_input_shapes else "", str(e.stack) if group_by_stack_n else "")
            groups.setdefault(key, []).append(e)
        return EventList(FunctionEventAvg(key[0], events) for key, events in groups.items())

    def total_average(self) -> FunctionEventAvg:
        """Average over all events."""
        return FunctionEventAvg("Total", list(self))

    @property
    def self_cpu_time_total(self) -> float:
        """Return the sum of the events' own times in microseconds, so that nested events count once."""
        return sum(e.self_cpu_time_total for e in self)

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int = 55,
              max_shapes_column_width: int = 80, header: str | None = None, top_level_events_only: bool = False,
              time_unit: str | None = None) -> str:
        """Format the events as a table, the longest first if ``sort_by`` names a time."""
        rows = sorted(self, key=lambda e: -getattr(e, sort_by)) if sort_by else list(self)
        total = self.self_cpu_time_total or 1.0
        titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
        cells = [[_cut(e.key, max_name_column_width), f"{e.self_cpu_time_total / total:.2%}",
                  _time(e.self_cpu_time_total, time_unit), f"{e.cpu_time_total / total:.2%}", _time(e.cpu_time_total, time_unit),
                  _time(e.cpu_time, time_unit), str(e.count)]
                 for e in rows[:row_limit if row_limit >= 0 else None]]
        widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
        line = "  ".join("-" * w for w in widths)
        body = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in [titles, *cells]]
        top = [header] if header else []
        return "\n".join([*top, line, body[0], line, *body[1:], line, f"Self CPU time total: {_time(total, time_unit)}", ""])

    __str__ = table

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for Perfetto or chrome://tracing."""
        made = [{"ph": "X", "name": e.name, "cat": e.kind, "pid": os.getpid(), "tid": e.thread, "ts": e.start,
                 "dur": e.cpu_time_total,
                 "args": e.details} for e in self]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": made}, file)


def events_of(timeline: Timeline) -> EventList:
    """Return a timeline's events, with nested events subtracted from each event's own time."""
    seen = sorted(timeline.happenings, key=lambda h: (h.start, -h.seconds))
    made = EventList(FunctionEvent(h) for h in seen if h.kind in SHOWN)
    _nest(made)
    return made


def _nest(events: Iterable[FunctionEvent]) -> None:
    open_in: dict[int, list[FunctionEvent]] = {}
    for e in events:
        around = open_in.setdefault(e.thread, [])
        while around and around[-1].end <= e.start:
            around.pop()
        if around:
            e.cpu_parent = around[-1]
            around[-1].cpu_children.append(e)
            around[-1].self_cpu_time_total -= e.cpu_time_total
        around.append(e)


_UNITS: dict[str, tuple[float, str]] = {"us": (1.0, "us"), "ms": (1e3, "ms"), "s": (1e6, "s")}


def _time(us: float, unit: str | None = None) -> str:
    scale, name = _UNITS[unit or ("s" if us >= 1e6 else "ms" if us >= 1e3 else "us")]
    return f"{us / scale:.3f}{name}"


def _cut(name: str, width: int) -> str:
    return name if len(name) <= width else name[:width - 3] + "..."


def stacks_of(events: Iterable[FunctionEvent], metric: str, write: Callable[[str], object]) -> None:
    """Write a line ``line;name microseconds`` for each event, the format of flame graphs."""
    for e in events:
        if e.stack and (us := int(getattr(e, metric, 0))) > 0:
            write(f"{e.stack[0]};{e.name.replace(' ', '_')} {us}\n")
