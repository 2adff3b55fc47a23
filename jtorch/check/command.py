"""``python -m jtorch check PATH…``: the command, what it prints, and its JSON."""
from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jtorch.check.project import Finding, Report, check, is_missing

SHOWN = 3       # places shown for a name without --all
_HEADS = {
    "missing": "Missing: reading the name raises AttributeError or ImportError",
    "refused": "Refused: the name can be imported, and this use raises NotImplementedError or TypeError",
    "differs": "Different",
    "nothing": "Accepted, and does nothing",
    "guarded": "Guarded by try, hasattr or TYPE_CHECKING: missing, and the program goes on",
    "device": "Of devices that are not here",
    "unknown": "Not of PyTorch {version}",
}
_WORDS = {"missing": "missing", "refused": "refused", "differs": "different", "nothing": "without effect", "guarded": "guarded"}
_SHORT = ("guarded", "device", "unknown")       # the kinds whose places are shown only with --all


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m jtorch check",
        description="List the names of PyTorch's that a project uses and jtorch lacks or treats otherwise. It runs nothing.",
        epilog="The status is 1 if a name is missing and not guarded, 2 if there is nothing to read.")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a folder, a Python file or a notebook")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.add_argument("--all", action="store_true", help="show all places of each name")
    return parser.parse_args(argv)


def _places(found: Finding, whole: bool) -> str:
    """Return where a name is used; further lines of a file follow after commas."""
    kept = found.places if whole else found.places[:SHOWN]
    lines: dict[str, list[str]] = {}
    for place in kept:
        lines.setdefault(place.file, []).append(place.line)
    shown = [f"{file}:{','.join(at)}" if at[0].isdigit() else f"{file} ({'; '.join(at)})" for file, at in lines.items()]
    more = len(found.places) - len(kept)
    return " ".join([*shown, *([f"and {more} more"] if more else [])])


def _entry(found: Finding, whole: bool) -> Iterator[str]:
    yield f"  {found.name}  {_places(found, whole)}"
    if found.says:
        yield f"      {found.says}"
    if found.instead:
        yield f"      instead: {found.instead}"


def text(report: Report, whole: bool = False) -> str:
    """Return what the command prints."""
    lines: list[str] = []
    for kind, head in _HEADS.items():
        found = report.of(kind)
        if not found:
            continue
        lines += [f"{head.format(version=report.version)} ({len(found)})"]
        if kind in _SHORT and not whole:
            lines += [f"  {', '.join(f.name for f in found)}", ""]
        else:
            lines += [*(line for f in found for line in _entry(f, whole)), ""]
    return "\n".join([*lines, *_summary(report)]) + "\n"


def _summary(report: Report) -> Iterator[str]:
    if report.unreadable:
        yield f"{len(report.unreadable)} files could not be read as Python: {', '.join(report.unreadable[:SHOWN])}" + (
            ", …" if len(report.unreadable) > SHOWN else "")
    total = len(report.names)
    if not total:
        yield f"No names of PyTorch in {report.read} files."
        return
    counts = ((len(report.of(kind)), word) for kind, word in _WORDS.items())
    said = ", ".join(f"{count} {word}" for count, word in counts if count)
    yield f"{report.here} of {total} names are here, in {report.using} of {report.read} files{': ' if said else ''}{said}."


def as_json(report: Report) -> str:
    """Return the report as JSON, for tools."""
    def one(found: Finding) -> dict[str, Any]:
        places = [{"file": p.file, "line": int(p.line) if p.line.isdigit() else p.line} for p in found.places]
        return {"name": found.name, "kind": found.kind, "says": found.says, "instead": found.instead, "places": places}
    return json.dumps({"pytorch": report.version, "files": report.read, "using": report.using, "unreadable": report.unreadable,
                       "names": len(report.names), "here": report.here,
                       "findings": [one(f) for f in report.of(*_HEADS)]}, indent=1, ensure_ascii=False) + "\n"


def checked(paths: list[Path]) -> Report:
    """Check paths without the garbage collector: syntax trees are many objects, and none are in cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return check(paths)
    finally:
        if was_on:
            gc.enable()


def main(argv: list[str]) -> int:
    """Run the command; return its status."""
    given = _arguments(argv)
    absent = [str(path) for path in given.paths if not path.exists()]
    if absent:
        sys.stderr.write(f"python -m jtorch check: {absent[0]} does not exist\n")
        return 2
    report = checked(given.paths)
    sys.stdout.write(as_json(report) if given.json else text(report, given.all))
    return 2 if not report.read else int(any(is_missing(f) for f in report.findings.values()))
