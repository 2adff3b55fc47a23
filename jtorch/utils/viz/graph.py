"""``graph(loss)``: the autograd graph of a tensor as DOT text, and as an SVG picture that needs no other program."""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from jtorch import storage
from jtorch._backward.view_history import node_of
from jtorch.tensor import Tensor
from jtorch.utils.viz.layout import HEIGHT, layered

COLOURS = {"output": "#caff70", "leaf": "#add8e6", "node": "#e8e8e8", "saved": "#ffd9a8"}
CHARACTER, MARGIN = 6.7, 12.0       # Pixels: the width of a character in the picture's font, and the margin.
LONGEST = 40


@dataclass
class Graph:
    """A graph of boxes and edges. The kind of a box is output, leaf, node or saved. A notebook shows the graph's picture."""

    boxes: list[tuple[str, str]] = field(default_factory=list)      # The kind and the lines of text of each box.
    edges: list[tuple[int, int]] = field(default_factory=list)

    @property
    def source(self) -> str:
        """The graph in DOT, the language of Graphviz."""
        lines = ["digraph {", '    node [shape=box, style=filled, fontname=monospace, fontsize=10];']
        for i, (kind, text) in enumerate(self.boxes):
            label = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            lines.append(f'    n{i} [label="{label}", fillcolor="{COLOURS[kind]}"];')
        return "\n".join([*lines, *[f"    n{a} -> n{b};" for a, b in self.edges], "}"]) + "\n"

    def svg(self) -> str:
        """Return the picture as SVG text."""
        widths = [max(len(line) for line in text.split("\n")) * CHARACTER + 2 * MARGIN for _, text in self.boxes]
        found = layered(widths, self.edges)
        parts = [_line(points) for points in found.lines]
        for (kind, text), width, at in zip(self.boxes, widths, found.boxes, strict=True):
            parts.append(_box(kind, text, width, at))
        size = f'width="{found.width + 2 * MARGIN:.0f}" height="{found.height + 2 * MARGIN:.0f}"'
        return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="11" text-anchor="middle">'
                '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
                f'<path d="M0 0L8 4L0 8z"/></marker></defs><g transform="translate({MARGIN} {MARGIN})">\n'
                + "\n".join(parts) + "\n</g></svg>\n")

    _repr_svg_ = svg

    def save(self, path: str | Path) -> None:
        """Write the picture (``.svg``) or the DOT text (``.dot``, ``.gv``)."""
        path = Path(path)
        if path.suffix not in (".svg", ".dot", ".gv"):
            raise ValueError(f"a graph is saved as .svg, .dot or .gv, not as {path.suffix!r}")
        path.write_text(self.svg() if path.suffix == ".svg" else self.source, encoding="utf-8")


def graph(output: Tensor | Iterable[Tensor], params: Mapping[str, Tensor] | Any = None, *, show_saved: bool = False) -> Graph:
    """Return the graph of the operations that computed ``output``, as ``backward`` walks it, with the leaves on top.

    Leaves are drawn with their shape, and operations with PyTorch's name of their node.

    Args:
        output: a tensor, or several.
        params: the names of the leaves: a module, or a dict such as ``dict(model.named_parameters())``.
        show_saved: whether to draw the tensors that operations keep for backward.

    Returns:
        The graph.

    Raises:
        RuntimeError: a tensor without a graph.

    >>> model = torch.nn.Linear(2, 1)
    >>> g = torch.utils.viz.graph(model(torch.ones(3, 2)).sum(), model)
    >>> sorted(text.split("\\n")[0] for kind, text in g.boxes if kind == "leaf")
    ['bias', 'weight']
    >>> g.save("model.svg")     # doctest: +SKIP

    """
    outputs = [output] if isinstance(output, Tensor) else list(output)
    made = _Builder(_names(params), show_saved)
    for t in outputs:
        if not t.requires_grad:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        made.add_output(t)
    return made.graph


def _names(params: Any) -> dict[int, str]:
    if params is None:
        return {}
    named = params.named_parameters() if hasattr(params, "named_parameters") else params.items()
    return {id(t): name for name, t in named}


class _Builder:
    """Walks the autograd graph with an explicit stack, since a graph may be too deep for recursion."""

    def __init__(self, names: dict[int, str], show_saved: bool) -> None:
        self.graph, self.names, self.show_saved = Graph(), names, show_saved
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []       # Keeps nodes alive, so that no other node gets the same id.

    def add_output(self, t: Tensor) -> None:
        """Add the box of a result, and all that leads to it."""
        node = node_of(t)
        box = self._box("output", _with_shape("output" if node is not None else self.names.get(id(t), "leaf"), tuple(t.shape)))
        if node is not None:
            self.graph.edges.append((self._walk(node), box))

    def _walk(self, start: Any) -> int:
        todo = [start]
        self._number(start)
        while todo:
            node = todo.pop()
            for source, _ in node.next_functions:
                if source is None:
                    continue
                if id(source) not in self.numbers:
                    self._number(source)
                    todo.append(source)
                self.graph.edges.append((self.numbers[id(source)], self.numbers[id(node)]))
        return self.numbers[id(start)]

    def _number(self, node: Any) -> None:
        leaf = getattr(node, "variable", None)
        self.kept.append(node)
        if leaf is not None:
            self.numbers[id(node)] = self._box("leaf", _with_shape(self.names.get(id(leaf), "leaf"), tuple(leaf.shape)))
            return
        self.numbers[id(node)] = self._box("node", _short(node.name()))
        for aval in _saved(node) if self.show_saved else ():
            box = self._box("saved", _with_shape(aval.dtype.name, aval.shape))
            self.graph.edges.append((box, self.numbers[id(node)]))

    def _box(self, kind: str, text: str) -> int:
        self.graph.boxes.append((kind, text))
        return len(self.graph.boxes) - 1


def _saved(node: Any) -> list[storage.Aval]:
    """Return the avals of the tensors that a node keeps, except for leaves, which are drawn already."""
    saved = getattr(node, "saved", None) or ()
    sources = [source for source, _ in node.next_functions]
    return [v.aval for k, v in enumerate(saved) if hasattr(v, "aval") and
            not (k < len(sources) and hasattr(sources[k], "variable"))]


def _with_shape(name: str, shape: tuple[int, ...]) -> str:
    return f"{_short(name)}\n({', '.join(map(str, shape))})"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[:LONGEST - 1]}…"


def _line(points: list[tuple[float, float]]) -> str:
    """Return an SVG path through points, vertical at each, from below the first box to above the last."""
    (x, y), last = points[0], len(points) - 1
    path = f"M{x:.1f} {y + HEIGHT / 2:.1f}"
    y += HEIGHT / 2
    for k, (nx, centre) in enumerate(points[1:], 1):
        ny = centre - HEIGHT / 2 if k == last else centre
        middle = (y + ny) / 2
        path += f"C{x:.1f} {middle:.1f} {nx:.1f} {middle:.1f} {nx:.1f} {ny:.1f}"
        x, y = nx, ny
    return f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#tip)"/>'


def _box(kind: str, text: str, width: float, at: tuple[float, float]) -> str:
    x, y = at
    lines = re.split("\n", text)
    rect = (f'<rect x="{x - width / 2:.1f}" y="{y - HEIGHT / 2:.1f}" width="{width:.1f}" height="{HEIGHT}" rx="3" '
            f'fill="{COLOURS[kind]}" stroke="#555"/>')
    first = y + 4 - 6.5 * (len(lines) - 1)
    return rect + "".join(f'<text x="{x:.1f}" y="{first + 13 * k:.1f}">{escape(line)}</text>' for k, line in enumerate(lines))
