"""Findings of ``jtorch.engine.report()`` in words: what was compiled more than once or not at all, why, and what to do."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jtorch.engine import cost, policy, stats


@dataclass(frozen=True)
class Finding:
    """A finding: the user's line, what was found, and what to do."""

    line: str
    what: str
    advice: str


def short(line: str) -> str:
    """Return a line without its folder: ``/home/me/train.py:12`` becomes ``train.py:12``."""
    return Path(line).name or line


def saved_seconds(program: Any) -> float:
    """Return the estimated seconds that a program's runs have saved, compared with running its calls one by one."""
    if not hasattr(program, "path"):
        return 0.0
    work = sum([s.kernel.work for s in program.path], cost.NOTHING)
    one_by_one = work.host + len(program.path) * cost.CALL
    return max(0.0, program.runs * (one_by_one - work.compiled - len(program.path) * cost.HELD))


def findings(counters: stats.Counters, events: tuple[stats.Event, ...]) -> list[Finding]:
    """Return all findings. Lines with several programs come first, the line with the most programs before the others."""
    by_line: dict[str, list[Any]] = {}
    for e in events:
        if e.kind == "program" and hasattr(e.subject, "path"):
            by_line.setdefault(e.line, []).append(e.subject)
    again = sorted([(line, found) for line, found in by_line.items() if len(found) > 1], key=lambda item: -len(item[1]))
    return [_why_again(line, found) for line, found in again] + _of_counters(counters)


def _why_again(line: str, found: list[Any]) -> Finding:
    """Return why the traces that end at one line became several programs."""
    calls = {tuple([s.call.op.name for s in p.path]) for p in found}
    inputs = [tuple([repr(p.avals[i]) for i in p.ins]) for p in found]
    times = f"{len(found)} programs were compiled for what ends at {short(line)}"
    if len(calls) == 1 and len(set(inputs)) > 1:
        one, other = _differing(inputs)
        return Finding(line, f"{times}: the same calls, with inputs of other shapes or dtypes ({one}, then {other}).", SHAPES)
    if len(calls) == 1:
        return Finding(line, f"{times}: the same calls, and at their end other results were still held.", HELD)
    common = set.intersection(*map(set, calls))
    more = sorted({name for names in calls for name in names} - common)
    named = f" Only some of them call {', '.join(more[:5])}." if more else " They differ in how often they call the same."
    return Finding(line, f"{times}: not every turn makes the same calls.{named}", CALLS)


def _differing(inputs: list[tuple[str, ...]]) -> tuple[str, str]:
    first = inputs[0]
    other = next(i for i in inputs if i != first)
    pairs = [(a, b) for a, b in zip(first, other, strict=False) if a != b]
    return pairs[0] if pairs else (f"{len(first)} inputs", f"{len(other)} inputs")


def in_words(c: stats.Counters, events: tuple[stats.Event, ...]) -> list[str]:
    """Return sentences: what was compiled, what waits there were, and what to change."""
    programs = [e for e in events if e.kind == "program"]
    if not programs and not c.kernels:
        return ["Nothing was compiled: each call ran by itself."]
    return [_compiled(c, programs), _waits(c, events), *_changes(findings(c, events))]


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _compiled(c: stats.Counters, programs: list[stats.Event]) -> str:
    said = f"Compiled: {_count(len(programs), 'program')}, which ran {_count(c.program_runs, 'time')}"
    single = f", and {_count(c.kernels, 'single call')}." if c.kernels else "."
    most = max(programs, key=lambda e: e.runs, default=None)
    if most is None or not most.runs:
        return said + single
    return f"{said}{single} The program that ran most ({_count(most.runs, 'time')}) ends at {short(most.line)}."


def _waits(c: stats.Counters, events: tuple[stats.Event, ...]) -> str:
    longest = max(events, key=lambda e: e.seconds)
    aside = f" {_count(c.background, 'program')} of these compiled while the loop went on." if c.background else ""
    return (f"Waits: compiling took {c.compile_seconds:.2f} s, the longest {longest.seconds:.2f} s at {short(longest.line)}."
            f"{aside}")


def _changes(found: list[Finding]) -> list[str]:
    if not found:
        return ["To change: nothing."]
    return [f"To change: {one.what} {one.advice}" for one in found]


SHAPES = ("Few shapes are fine: each is compiled once. Where there are many, make them fewer: "
          "DataLoader(drop_last=True), or pad to a few "
          "lengths.")
HELD = ("Somebody keeps tensors of a turn in some turns and not in others, as in losses.append(loss). Keep "
        "loss.item() or loss.detach() in every "
        "turn, or in none.")
CALLS = ("That is right where each kind of turn comes often, as with a step that evaluates. Where a read such as "
         "loss.item() stands in some "
         "turns between forward and backward, move it behind optimizer.step().")
_READ = ("Something in the loop is done in few turns only (a print, a check, a read in the midst of a step). Each "
         "costs that turn its "
         "program, nothing else. jtorch.engine.trace() shows the lines; what can wait belongs behind optimizer.step().")


def _of_counters(c: stats.Counters) -> list[Finding]:
    found = []
    if c.departures > 3 and c.departures * 20 > c.program_runs:
        found.append(Finding("", f"{c.departures} traces left what was compiled for them; programs ran "
                                 f"{c.program_runs} times.", _READ))
    if c.timing_loops:
        found.append(Finding("", f"{c.timing_loops} loops compute the same thing again and again and drop it.",
                             "A compiler would compute it once, so that they are left as they are; time them with "
                             "torch.utils.benchmark."))
    if c.refused:
        found.append(Finding("", f"{c.refused} traces are not compiled, since XLA is expected to be slower at them "
                                 f"than NumPy's BLAS.",
                             "Nothing has to be done."))
    if c.dropped:
        found.append(Finding("", f"{c.dropped} programs were dropped, since there were more than {policy.MAX_PROGRAMS}.", SHAPES))
    if c.traces > 50 and not c.programs:
        found.append(Finding("", f"{c.traces} traces have ended, and none came back often enough to be compiled.",
                             "Shapes or calls differ from turn to turn, or JTORCH_ENGINE=eager is set."))
    return found
