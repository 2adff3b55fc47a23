"""``python -m tools.site.loop_picture``: draw docs/pictures/loop.svg, a training loop beside its timelines.

Each library runs the loop in a process of its own, with its own profiler, and the shortest turn is drawn. The profilers slow the
turns down, so the parts of a turn are scaled to the turn's time in docs/measurements/speed.md. PyTorch must be installed.
"""
from __future__ import annotations

import json
import re
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PICTURE, SPEED = ROOT / "docs" / "pictures" / "loop.svg", ROOT / "docs" / "measurements" / "speed.md"
ROW = "MLP 64-64-10, batch 32, Adam"
LOOP = """\
for X, y in batches:
    loss = cross_entropy(model(X), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
"""
TURNS = 200
COLOURS = {"forward": "#60a5fa", "backward": "#c084fc", "optimizer": "#fbbf24", "record": "#60a5fa", "program": "#34d399",
           "read": "#94a3b8"}
PANEL, TEXT, QUIET = "#111827", "#e5e7eb", "#9ca3af"


def turn_of(torch: Any) -> Any:
    """Return a function that makes one turn of the loop."""
    nn = torch.nn
    torch.manual_seed(0)
    X, y = torch.randn(32, 64), torch.randint(10, (32,))
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def turn() -> float:
        loss = nn.functional.cross_entropy(model(X), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in range(TURNS):
        turn()
    return turn


def of_pytorch() -> list[tuple[str, float, float]]:
    """Return the parts of PyTorch's shortest turn: a kind, a start and an end in microseconds."""
    import torch
    turn = turn_of(torch)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for _ in range(TURNS):
            with torch.profiler.record_function("turn"):
                turn()
    turns = [event for event in profiler.events() if event.name == "turn"]
    best = min(turns, key=lambda event: event.time_range.elapsed_us())
    begun = best.time_range.start
    return [(_kind(event.name), event.time_range.start - begun, event.time_range.end - begun) for event in _leaves(best)]


def _leaves(event: Any) -> list[Any]:
    """Return the operators of a turn. The operators inside the optimizer's step stand for the step."""
    found = []
    for child in event.cpu_children:
        found += [_named(one, child.name) for one in child.cpu_children] if child.name.startswith("Optimizer.step") else [child]
    return found


def _named(event: Any, name: str) -> Any:
    event.name = name
    return event


def _kind(name: str) -> str:
    if name.startswith("Optimizer"):
        return "optimizer"
    return "backward" if "autograd" in name or name == "aten::ones_like" else "read" if name == "aten::item" else "forward"


def of_jtorch() -> list[tuple[str, float, float]]:
    """Return the parts of jtorch's shortest turn."""
    import jtorch as torch
    turn = turn_of(torch)
    with torch.engine.trace() as timeline:
        for _ in range(TURNS):
            turn()
    kinds = {"record": "record", "program": "program", "wait": "read"}
    parts = [(kinds[h.kind], h.start * 1e6, (h.start + h.seconds) * 1e6) for h in timeline.happenings if h.kind in kinds]
    wanted = ["record", "program", "read"]
    records = [k for k in range(len(parts)) if [p[0] for p in parts[k:k + 3]] == wanted]
    best = min(records, key=lambda k: max(p[2] for p in parts[k:k + 3]) - parts[k][1])
    return [(kind, start - parts[best][1], end - parts[best][1]) for kind, start, end in parts[best:best + 3]]


def times() -> tuple[float, float]:
    """Return the microseconds that a turn takes in PyTorch and in jtorch, from the table in speed.md."""
    found = re.search(rf"^\| {re.escape(ROW)} \| (\d+) \| (\d+) \|", SPEED.read_text(), re.MULTILINE)
    assert found is not None, f"{SPEED.name} has no row {ROW}"
    return float(found[1]), float(found[2])


def _bars(parts: list[tuple[str, float, float]], time: float, left: float, y: float, scale: float) -> list[str]:
    """Return the boxes of a turn, which takes ``time`` in all."""
    last = max(end for _, _, end in parts)
    boxes, reached = [], 0.0
    for kind, start, end in parts:
        start, end = max(start * time / last, reached), end * time / last
        reached = end
        width = max((end - start) * scale - 1, 1.2)
        boxes.append(f'<rect x="{left + start * scale:.1f}" y="{y}" width="{width:.1f}" height="30" rx="2" '
                     f'fill="{COLOURS[kind]}"/>')
    return boxes


def _text(x: float, y: float, said: str, colour: str = TEXT, size: int = 14, kind: str = "sans") -> str:
    family = "ui-monospace, Menlo, Consolas, monospace" if kind == "code" else "system-ui, sans-serif"
    return (f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" font-family="{family}" xml:space="preserve">'
            f"{escape(said)}</text>")


def _legend(x: float, y: float, names: list[tuple[str, str]]) -> list[str]:
    found = []
    for kind, said in names:
        found += [f'<rect x="{x}" y="{y - 9}" width="10" height="10" rx="2" fill="{COLOURS[kind]}"/>',
                  _text(x + 15, y, said, QUIET, 12)]
        x += 30 + 7 * len(said)
    return found


def draw(pytorch: list[tuple[str, float, float]], jtorch: list[tuple[str, float, float]]) -> str:
    """Return the picture's SVG."""
    theirs, ours = times()
    left, scale = 400, 500 / theirs
    said = (f"A training loop. A turn takes {theirs:.0f} microseconds in PyTorch, in {len(pytorch)} parts, "
            f"and {ours:.0f} in jtorch, as one program.")
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 930 250" role="img" aria-label="{said}">',
        f"<title>{said}</title>",
        f'<rect width="930" height="250" rx="10" fill="{PANEL}"/>',
        *[_text(28, 66 + 26 * k, line, TEXT, 14, "code") for k, line in enumerate(LOOP.splitlines())],
        _text(left, 44, f"PyTorch: {theirs:.0f} µs, each call by itself"), *_bars(pytorch, theirs, left, 56, scale),
        *_legend(left, 108, [("forward", "forward"), ("backward", "backward"), ("optimizer", "optimizer")]),
        _text(left, 150, f"jtorch: {ours:.0f} µs, one program"), *_bars(jtorch, ours, left, 162, scale),
        *_legend(left, 214, [("record", "calls compared"), ("program", "compiled program"), ("read", "read")]),
        "</svg>", ""])


def measured() -> dict[str, list]:
    """Return both libraries' parts, each from a process of its own."""
    found = {}
    for name in ("pytorch", "jtorch"):
        code = f"import json, sys; from tools.site import loop_picture as l; json.dump(l.of_{name}(), sys.stderr)"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        found[name] = json.loads(re.findall(r"^\[\[.*\]\]$", done.stderr, re.MULTILINE)[-1])
    return found


def main() -> int:
    """Measure and draw."""
    found = measured()
    PICTURE.write_text(draw(found["pytorch"], found["jtorch"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
