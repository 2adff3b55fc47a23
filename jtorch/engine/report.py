"""``jtorch.engine.report()``: what was compiled, why, at which user line, how long it took and how often it ran."""
from __future__ import annotations

from dataclasses import dataclass

from jtorch.engine import stats
from jtorch.engine.advice import Finding, findings, in_words

# Counters of the engine's mechanisms, which the report shows if they are not zero.
MECHANISMS = ("early_starts", "early_starts_used", "equal_programs", "region_programs", "side_by_side", "background",
              "handed_on", "left_out", "read_untraced", "walks", "open_traces", "open_sizes", "untraced", "batched",
              "overwritten", "parts_written", "onednn", "batch_norms", "onednn_products", "caught_up", "strayed", "set_aside",
              "refused", "timing_loops", "dropped")


@dataclass(frozen=True)
class Report:
    """A snapshot of the engine's counters and compilations.

    ``str()`` is a table and ``html()`` a page. ``events`` are the rows.
    """

    counters: stats.Counters
    events: tuple[stats.Event, ...]

    def __str__(self):
        c = self.counters
        head = (f"{c.programs} programs and {c.kernels} kernels compiled in {c.compile_seconds:.2f} s "
                f"({c.loaded} read from disk); {c.traces} traces ended, programs ran {c.program_runs} times; "
                f"{c.departures} departures")
        often = {name: getattr(c, name) for name in MECHANISMS}
        fired = ", ".join([f"{name.replace('_', ' ')} {n}" for name, n in often.items() if n])
        return "\n".join([head, *([f"  {fired}"] if fired else []), *[_row(e) for e in self.events],
                          *in_words(c, self.events)])

    __repr__ = __str__

    def findings(self) -> list[Finding]:
        """Return in words what was compiled more than once, left its program, was dropped or not compiled, and what to do."""
        return findings(self.counters, self.events)

    def html(self) -> str:
        """Return an HTML page: which loop became which program, what it saved, what is compiled again, and what to do."""
        from jtorch.engine.report_page import document
        return document(self)

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        from jtorch.engine.report_page import page
        return page(self)


def _row(e: stats.Event) -> str:
    return f"  {e.kind:<7} {e.seconds * 1e3:7.0f} ms  {e.runs:7} runs  {e.what}\n          at {e.line}: {e.why}"


def report() -> Report:
    """Return a report of what the engine has compiled so far, and why.

    Returns:
        an object whose text lists programs and kernels, with their lines in your program, counters and times. ``html()`` is a
        page, which notebooks show. ``findings()`` says in words what runs worse than it could, why, and what to do.

    Example::

        >>> "programs" in str(torch.engine.report())
        True

    """
    c = stats.counters
    return Report(stats.Counters(**vars(c)), tuple(stats.events))
