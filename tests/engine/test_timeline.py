"""jtorch.engine.trace() and torch.profiler's use of it; the report as a page and in words."""
from __future__ import annotations

import gzip
import html.parser
import json
import re

import pytest

import jtorch as torch
from jtorch import engine
from jtorch._base.config import ENGINE_MODE
from jtorch.engine import advice, stats
from jtorch.engine import program as programs

needs_auto = pytest.mark.skipif(ENGINE_MODE != "auto", reason="looks at what JTORCH_ENGINE=auto decides")


@pytest.fixture(autouse=True)
def fresh():
    engine.forget()
    stats.reset()
    yield
    engine.forget()


class Trained:
    """A small model with its training step."""

    def __init__(self, width=16):
        self.w = torch.randn(width, width, requires_grad=True)
        self.optimizer = torch.optim.SGD([self.w], lr=0.01)
        self.X = torch.randn(8, width)

    def step(self, n=8, look=None):
        loss = (self.X[:n] @ self.w).tanh().square().mean()
        if look is not None:
            look(loss)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


def warm(trained, **kw):
    for _ in range(40):
        trained.step(**kw).item()


@needs_auto
def test_a_timeline_has_records_programs_waits_and_departures(tmp_path):
    trained = Trained()
    warm(trained)
    with engine.trace() as timeline:
        for k in range(10):
            trained.step(look=(lambda loss: loss.log10().item()) if k == 5 else None).item()
    counts = timeline.counts()
    assert counts["program"] >= 8
    assert counts["record"] >= 8
    assert counts["departure"] == 1
    assert counts["catching up"] >= 1
    assert counts["call"] >= 1      # The turn with the departure has calls.
    record = next(h for h in timeline.happenings if h.kind == "record")
    assert any("matmul" in c and "test_timeline.py:" in c for c in record.details["calls"])
    departure = next(h for h in timeline.happenings if h.kind == "departure")
    assert "log10" in departure.name
    assert "test_timeline.py:" in departure.details["line"]


@needs_auto
def test_compiling_is_seen():
    trained = Trained()
    with engine.trace() as timeline:
        warm(trained)
    assert timeline.counts()["compile"] >= 1
    assert "compile" in str(timeline)
    assert next(h.details["why"] for h in timeline.happenings if h.kind == "compile" and "calls" in h.name).startswith("ran ")


@pytest.mark.parametrize("name", ["timeline.json", "timeline.json.gz"])
def test_the_file_is_chromes(tmp_path, name):
    with engine.trace() as timeline:
        (torch.ones(3).exp() + 1).sum().item()
    timeline.export_chrome_trace(tmp_path / name)
    opened = gzip.open if name.endswith("gz") else open
    with opened(tmp_path / name, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    complete = [e for e in events if e["ph"] == "X"]
    assert complete
    assert all(e["dur"] >= 0 and e["ts"] >= 0 and e["cat"] and isinstance(e["args"], dict) for e in complete)
    assert any(e["ph"] == "M" and e["name"] == "process_name" for e in events)
    _assert_nested(complete)


def _assert_nested(events):
    """Check that spans of a thread are nested or disjoint, as viewers demand."""
    ends: list[float] = []
    for e in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        while ends and ends[-1] <= e["ts"] + 1e-2:
            ends.pop()
        assert not ends or e["ts"] + e["dur"] <= ends[-1] + 1e-2, e
        ends.append(e["ts"] + e["dur"])


@needs_auto
def test_spans_of_a_loop_nest():
    trained = Trained()
    with engine.trace() as timeline:
        warm(trained)
    _assert_nested([e for e in timeline.events() if e["ph"] == "X"])


def test_everything_is_put_back():
    before = programs.Program.start, engine.record
    with engine.trace(), pytest.raises(RuntimeError, match="is running already"), engine.trace():
        pass
    with pytest.raises(ZeroDivisionError), engine.trace():
        1 / 0
    assert (programs.Program.start, engine.record) == before
    with engine.trace() as timeline:        # A second timeline can be recorded.
        torch.ones(2).exp().sum().item()
    assert timeline.happenings


def test_watching_changes_no_number():
    def run():
        torch.manual_seed(0)
        trained = Trained()
        return [trained.step().item() for _ in range(30)]
    plain = run()
    engine.forget()
    with engine.trace():
        watched = run()
    assert watched == plain


@needs_auto
def test_a_trace_without_a_program_is_seen_to_run_call_by_call(monkeypatch):
    """An accelerator defers calls from the first on in this way."""
    monkeypatch.setattr("jtorch.engine.trie.ENGINE_MODE", "hot")
    engine.forget()
    with engine.trace() as timeline:
        assert (torch.ones(3) * 2 + 1).tolist() == [3, 3, 3]
    assert timeline.counts()["catching up"] == 1


# ---------------------------------------------------------------- torch.profiler

def test_profiler_gives_pytorchs_table(tmp_path):
    x = torch.ones(4, 4)
    with torch.profiler.profile(record_shapes=True) as p:
        with torch.profiler.record_function("part"):
            x.exp().sum().item()
        x.exp().sum().item()
    averages = p.key_averages()
    counted = {e.key: e.count for e in averages}
    assert counted["part"] == 1
    table = averages.table(sort_by="self_cpu_time_total", row_limit=2)
    for word in ("Name", "Self CPU %", "CPU total", "# of Calls", "Self CPU time total:"):
        assert word in table
    part = next(e for e in p.events() if e.name == "part")
    assert part.cpu_children
    assert part.self_cpu_time_total == pytest.approx(part.cpu_time_total - sum(e.cpu_time_total for e in part.cpu_children))
    assert averages.total_average().count == len(p.events())
    p.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    p.events().export_chrome_trace(str(tmp_path / "events.json"))
    assert json.loads((tmp_path / "events.json").read_text())["traceEvents"]
    p.export_stacks(str(tmp_path / "stacks.txt"))


def test_profiler_without_a_run_says_so(tmp_path):
    with pytest.raises(RuntimeError, match="hasn't been started"):
        torch.profiler.profile().export_chrome_trace(str(tmp_path / "trace.json"))


@pytest.mark.conformance
def test_table_has_pytorchs_columns(torch):
    import jtorch
    tables = []
    for library in (torch, jtorch):
        with library.profiler.profile(activities=[library.profiler.ProfilerActivity.CPU]) as p:
            library.ones(3).exp().sum().item()
        tables.append([c for c in p.key_averages().table().splitlines()[1].split("  ") if c.strip()])
    theirs, ours = [[c.strip() for c in row] for row in tables]
    assert ours == theirs


# ---------------------------------------------------------------- the report

class Tags(html.parser.HTMLParser):
    """A parser that checks that every tag is closed in order."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@needs_auto
def test_report_is_a_page_that_says_which_loop_became_which_program():
    trained = Trained()
    warm(trained)
    report = engine.report()
    parsed = Tags()
    parsed.feed(report.html())
    assert not parsed.open
    assert "test_timeline.py:" in parsed.text
    assert "saved" in parsed.text
    assert report._repr_html_() in report.html()
    assert "<html" not in report._repr_html_()


@needs_auto
def test_other_sizes_are_found():
    trained = Trained()
    trained.X = torch.randn(8, 16)
    for n in (8, 6):
        X = trained.X[:n].clone()
        for _ in range(40):
            _turn(trained, X)
    found = engine.report().findings()
    assert any("other shapes" in f.what and f.advice == advice.SHAPES for f in found), found


@needs_auto
def test_what_is_kept_is_found():
    trained, kept = Trained(), []
    for k in range(160):
        _turn(trained, trained.X, kept if k > 60 else None)
    found = engine.report().findings()
    assert any("other results were still held" in f.what and f.advice == advice.HELD for f in found), found


def _turn(trained, X, kept=None):
    hidden = (X @ trained.w).tanh()
    loss = hidden.square().mean()
    if kept is not None:
        kept.append(hidden.detach())
    del hidden
    trained.optimizer.zero_grad()
    loss.backward()
    trained.optimizer.step()


@needs_auto
def test_departures_are_found():
    trained = Trained()
    warm(trained)
    for k in range(20):
        trained.step(look=(lambda loss, k=k: getattr(loss, NAMES[k % len(NAMES)])().item())).item()
    found = engine.report().findings()
    assert any("left what was compiled" in f.what for f in found), found


NAMES = ["log", "exp", "sin", "cos", "sqrt"]


@needs_auto
def test_a_report_ends_with_words():
    warm(Trained())
    compiled, waits, *changes = str(engine.report()).splitlines()[-3:]
    assert re.match(r"Compiled: 1 program, which ran \d+ times.* ends at \w+\.py:\d+\.$", compiled), compiled
    assert re.match(r"Waits: compiling took [\d.]+ s, the longest [\d.]+ s at .*\.", waits), waits
    assert changes == ["To change: nothing."]


def test_nothing_to_say_of_nothing():
    assert engine.report().findings() == []
    assert str(engine.report()).endswith("Nothing was compiled: each call ran by itself.")
    assert "0 programs" in engine.report().html()
