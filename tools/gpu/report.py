"""The report: ``report.json`` has all figures, ``report.md`` is for readers."""
from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tools.gpu.line import FAILED, LATE, PASSED, Line

STAND_IN = ("**There was no GPU.** JAX's CPU device stood in the GPU's place, at small sizes: that the path is alive is shown, "
            "nothing about a GPU's results or speed.")


def write(folder: Path, machine: dict[str, Any], lines: list[Line], tiny: bool, seconds: float) -> None:
    """Write both files. The caller does this after each line, so an ended run leaves its lines."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {"gpu": not tiny, "machine": machine, "seconds": seconds, "lines": [line.as_dict() for line in lines]}
    (folder / "report.json").write_text(json.dumps(told, indent=1) + "\n")
    (folder / "report.md").write_text(markdown(machine, lines, tiny, seconds))


def markdown(machine: dict[str, Any], lines: list[Line], tiny: bool, seconds: float) -> str:
    """Return the page."""
    counts = Counter(line.status for line in lines)
    page = ["# jtorch on " + (machine["gpus"][0] if machine.get("gpus") and not tiny else "a CPU in a GPU's place"), ""]
    page += [STAND_IN, ""] if tiny else []
    page += [", ".join(f"{n} {status}" for status, n in counts.items()) + f"; {seconds:.0f} s", ""]
    page += [f"- {key}: {value}" for key, value in machine.items()]
    page += _table_of_steps([line for line in lines if line.figures.get("step_ms")])
    for part in dict.fromkeys(line.part for line in lines):
        page += _part(part, [line for line in lines if line.part == part])
    return "\n".join(page) + "\n"


def _part(part: str, lines: list[Line]) -> list[str]:
    passed = sum(line.status == PASSED for line in lines)
    return ["", f"## {part.capitalize()}: {passed} of {len(lines)} passed", "", "| | | s | |", "|---|---|---|---|",
            *[f"| {line.name} | {_shown(line.status)} | {line.seconds:.1f} | {_cell(line.detail)} |" for line in lines],
            *_failures(lines)]


def _shown(status: str) -> str:
    return f"**{status}**" if status in (FAILED, LATE) else status


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _failures(lines: list[Line]) -> list[str]:
    found = [f"- `{line.name}` {_cell(text)}" for line in lines for text in line.figures.get("failures", ())]
    return ["", *found] if found else []


def _table_of_steps(lines: list[Line]) -> list[str]:
    """Return a table with a row for each workload and library, and the ratio of jtorch's step to the library's."""
    if not lines:
        return []
    rows: dict[str, dict[str, Line]] = {}
    for line in lines:
        workload, _, who = line.name.partition(", ")
        rows.setdefault(workload, {})[who] = line
    page = ["", "## Steps", "", "| | | first step, s | step, ms | jtorch's step is of it |", "|---|---|---|---|---|"]
    for workload, by in rows.items():
        own = by["jtorch"].figures["step_ms"] if "jtorch" in by else None
        for who, line in by.items():
            ratio = f"{own / line.figures['step_ms']:.2f}" if own is not None and who != "jtorch" else ""
            page.append(f"| {workload} | {who} | {line.figures['first_s']:.2f} | {line.figures['step_ms']:.2f} | {ratio} |")
    return page
