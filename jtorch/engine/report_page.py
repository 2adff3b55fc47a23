"""``jtorch.engine.report()`` as an HTML page, which ``html()`` returns and notebooks show."""
from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from jtorch.engine import advice

if TYPE_CHECKING:
    from jtorch.engine.report import Report
    from jtorch.engine.stats import Event

# The rules apply to their own class only, so a notebook's page keeps its style. The colours suit light and dark pages.
STYLE = """<style>
.jtorch-report {font: 14px/1.5 system-ui, sans-serif; max-width: 70em}
.jtorch-report table {border-collapse: collapse; display: block; overflow-x: auto; margin: .5em 0}
.jtorch-report th, .jtorch-report td {text-align: left; padding: .3em .8em; border-bottom: 1px solid #8886; vertical-align: top}
.jtorch-report td.n, .jtorch-report th.n {text-align: right; white-space: nowrap}
.jtorch-report code {font-family: ui-monospace, monospace}
.jtorch-report li {margin: .4em 0}
</style>"""


def page(report: Report) -> str:
    """Return the report as a fragment of HTML."""
    programs = [e for e in report.events if e.kind == "program"]
    kernels = [e for e in report.events if e.kind == "kernel"]
    parts = ['<div class="jtorch-report">', STYLE, "<h3>What the engine compiled</h3>", f"<p>{_summary(report, programs)}</p>",
             _table("Programs", programs), _advice(report), _table("Single calls", kernels), "</div>"]
    return "\n".join(p for p in parts if p)


def document(report: Report) -> str:
    """Return the report as a whole HTML page."""
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>jtorch: what the engine compiled</title></head><body><main>\n{page(report)}\n</main></body></html>\n")


def _summary(report: Report, programs: list[Event]) -> str:
    c = report.counters
    saved = sum(advice.saved_seconds(e.subject) for e in programs)
    return (f"{c.programs} programs, which ran {c.program_runs} times, and {c.kernels} single calls were compiled, in "
            f"{c.compile_seconds:.2f} s ({c.loaded} read from disk). By the engine's estimates the programs have "
            f"saved about {_seconds(saved)}. "
            f"{c.departures} times a trace left what was compiled for it.")


def _seconds(s: float) -> str:
    return f"{s:.1f} s" if s >= 1 else f"{s * 1e3:.0f} ms"


def _table(title: str, events: list[Event]) -> str:
    if not events:
        return ""
    rows = "\n".join(map(_row, sorted(events, key=lambda e: -e.runs)))
    head = "".join(f'<th scope="col"{" class=n" if numeric else ""}>{name}</th>' for name, numeric in
                   [("ends at", False), ("what", False), ("ran", True), ("compiled in", True), ("saved, about", True),
                    ("why", False)])
    return f"<h4>{title}</h4>\n<table><thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table>"


def _row(e: Event) -> str:
    saved = advice.saved_seconds(e.subject)
    cells = [f'<td><code title="{escape(e.line)}">{escape(advice.short(e.line))}</code></td>', f"<td>{escape(e.what)}</td>",
             f'<td class="n">{e.runs}</td>', f'<td class="n">{_seconds(e.seconds)}</td>',
             f'<td class="n">{_seconds(saved) if saved else ""}</td>',
             f"<td>{escape(e.why)}</td>"]
    return f"<tr>{''.join(cells)}</tr>"


def _advice(report: Report) -> str:
    items = [f"<li>{escape(f.what)} <em>{escape(f.advice)}</em></li>" for f in report.findings()]
    return "\n".join(["<h4>What to know</h4>", "<ul>", *items, "</ul>"]) if items else ""
