"""graph(): the boxes and lines of the tape, without overlaps."""
from __future__ import annotations

import random
import xml.etree.ElementTree as ET

import pytest

import jtorch
from jtorch.utils.viz import graph
from jtorch.utils.viz.layout import GAP, HEIGHT, layered


def names(g, kind):
    return [text for k, text in g.boxes if k == kind]


def test_boxes_and_lines():
    model = jtorch.nn.Linear(3, 2)
    g = graph((model(jtorch.ones(4, 3)) * 2).sum(), model)
    assert names(g, "output") == ["output\n()"]
    assert names(g, "node") == ["SumBackward0", "MulBackward0", "AddmmBackward0", "TBackward0"]
    assert sorted(names(g, "leaf")) == ["bias\n(2)", "weight\n(2, 3)"]
    text = [t.split("\n")[0] for _, t in g.boxes]
    assert {(text[a], text[b]) for a, b in g.edges} == {
        ("SumBackward0", "output"), ("MulBackward0", "SumBackward0"), ("AddmmBackward0", "MulBackward0"),
        ("weight", "TBackward0"), ("TBackward0", "AddmmBackward0"), ("bias", "AddmmBackward0")}


def test_a_shared_leaf_is_one_box():
    w = jtorch.ones(2, requires_grad=True)
    g = graph((w * w + w).sum(), {"w": w})
    assert names(g, "leaf") == ["w\n(2)"]
    assert len(g.edges) == 6


def test_a_leaf_itself_and_several_outputs():
    w = jtorch.ones(2, requires_grad=True)
    assert names(graph(w, {"w": w}), "output") == ["w\n(2)"]
    assert len(names(graph([w * 2, w * 3]), "output")) == 2


def test_saved_tensors():
    w = jtorch.ones(2, requires_grad=True)
    g = graph((w * jtorch.ones(3, 2)).exp().sum(), show_saved=True)
    assert "float32\n(3, 2)" in names(g, "saved")


def test_without_a_graph():
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        graph(jtorch.ones(2))


def test_drawing_changes_nothing():
    w = jtorch.ones(2, requires_grad=True)
    y = (w * 3).sum()
    graph(y, show_saved=True)
    y.backward()
    assert w.grad.tolist() == [3, 3]


def test_a_long_tape():
    y = jtorch.ones(1, requires_grad=True)
    for _ in range(3000):
        y = y * 1
    assert len(graph(y).edges) == 3001
    assert "</svg>" in graph(y).svg()


def test_pictures_and_dot(tmp_path):
    w = jtorch.ones(2, requires_grad=True)
    g = graph((w * 2).sum(), {'<a "quoted" & name>': w})
    root = ET.fromstring(g._repr_svg_())
    shown = ["".join(t.itertext()) for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert '<a "quoted" & name>' in shown
    assert "MulBackward0" in shown
    assert '[label="<a \\"quoted\\" & name>\\n(2)"' in g.source
    assert g.source.startswith("digraph {")
    g.save(tmp_path / "g.svg")
    g.save(tmp_path / "g.dot")
    assert (tmp_path / "g.svg").read_text(encoding="utf-8") == g.svg()
    with pytest.raises(ValueError, match=r"a graph is saved as \.svg, \.dot or \.gv"):
        g.save(tmp_path / "g.png")


@pytest.mark.parametrize("seed", range(5))
def test_layout(seed):
    """Lines lead down, boxes do not overlap, and everything is inside the picture."""
    r = random.Random(seed)
    n = 30
    edges = [(r.randrange(b), b) for b in range(1, n) for _ in range(r.choice([1, 1, 2]))]
    widths = [r.uniform(20, 120) for _ in range(n)]
    found = layered(widths, edges)
    for (a, b), line in zip(edges, found.lines, strict=True):
        assert (line[0], line[-1]) == (found.boxes[a], found.boxes[b])
        assert all(p[1] < q[1] for p, q in zip(line, line[1:], strict=False))
    for i in range(n):
        x, y = found.boxes[i]
        assert -1e-6 <= x - widths[i] / 2
        assert x + widths[i] / 2 <= found.width + 1e-6
        assert HEIGHT / 2 <= y <= found.height - HEIGHT / 2
        for j in range(i):
            if found.boxes[j][1] == y:
                assert abs(found.boxes[j][0] - x) >= (widths[i] + widths[j]) / 2 + GAP - 1e-6
