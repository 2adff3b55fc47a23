"""Counts and estimates alone decide about compiling, and each mechanism does its work."""
from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from lanes import cases

import jtorch
from jtorch._base.config import ENGINE_MODE
from jtorch.engine import policy, stats
from jtorch.engine.cost import Work

pytestmark = pytest.mark.core
ENGINE = Path(jtorch.__file__).parent / "engine"


# ---------------------------------------------------------------- decisions

def test_no_decision_asks_a_clock():
    """Clocks serve reports, timelines, waiting, giving back memory and the age of files. They change no number."""
    may = {"stats", "timeline", "wait", "malloc", "cache", "cache_key", "schedule", "program", "kernel",
           "parallel_compilation", "background"}
    for path in ENGINE.rglob("*.py"):
        names = {n.module for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)}
        names |= {a.name for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Import) for a in n.names}
        assert "time" not in names or path.stem in may, path
    assert not {"time", "os", "random", "threading"} & {a.name for n in ast.walk(ast.parse((ENGINE / "policy.py").read_text()))
                                                        if isinstance(n, ast.Import) for a in n.names}


def test_a_trace_is_compiled_when_it_has_come_back_often_and_has_cost_enough():
    assert not policy.pays(policy.FEW - 1, saved=1.0, compiling=0.1)
    assert policy.pays(policy.FEW, saved=1.0, compiling=2.9) and not policy.pays(policy.FEW, saved=1.0, compiling=3.1)
    assert policy.pays(10, saved=0.01, compiling=1.0) and not policy.pays(9, saved=0.01, compiling=1.0)
    assert not policy.pays(40, saved=1e-6, compiling=0.1) and policy.pays(100, saved=1e-6, compiling=0.1)
    assert not policy.pays(10_000, saved=-1e-6, compiling=0.1)


@pytest.mark.skipif(ENGINE_MODE != "auto", reason="other modes compile at once or never")
def test_a_step_that_costs_much_has_a_program_after_a_few_turns(monkeypatch):
    monkeypatch.setattr(policy, "FOREGROUND", float("inf"))
    jtorch.engine.forget()
    x, before, found = jtorch.ones(200_000), stats.counters.programs, []
    for _ in range(10):
        y = x
        for _ in range(60):
            y = (y * 1.01).tanh()
        y.sum().item()
        found.append(stats.counters.programs > before)
    assert found == [False] * 5 + [True] * 5


def test_products_stay_where_they_are_quicker():
    product, elementwise = Work(130e-6, 260e-6), Work(1e-3, 0.25e-3)
    assert policy.saving(product, 1, 0) < 0 < policy.saving(product, 30, 30)
    assert policy.saving(product, 2, 0, on_host=False) > policy.saving(product, 1, 0, on_host=False) > 0
    assert policy.runs_on_host(product, 1) is None
    assert policy.runs_on_host(Work(1e-6, 1e-7), 1) is None
    assert policy.runs_on_host(elementwise, 1) == pytest.approx(32)


@pytest.mark.one_mode
def test_a_few_small_calls_are_over_before_a_program_has_started(run_forked):
    """Many small calls, or a backward, do get a program."""
    printed = run_forked("""
import jtorch as torch
from jtorch.engine import policy
policy.FOREGROUND = float("inf")
def programs(step, turns=400):
    torch.engine.forget()
    before = torch.engine.report().counters.programs, torch.engine.report().counters.refused
    for _ in range(turns):
        step()
    after = torch.engine.report().counters
    return after.programs - before[0], after.refused - before[1]
x, w = torch.ones(4), torch.ones(4, requires_grad=True)
def few():
    return (x * x + x).tolist()
def many():
    y = x
    for _ in range(60):
        y = y * x
    return y.tolist()
def backward():
    for _ in range(4):
        (w * x).tanh().sum().backward()
    return w.grad.tolist()
print([(n > 0, refused) for n, refused in map(programs, (few, many, backward))])
""", {"JTORCH_ENGINE": "auto", "JTORCH_CACHE": "0"})
    assert printed == "[(False, 1), (True, 0), (True, 0)]\n"


def test_a_budget_allows_a_share_of_what_has_run():
    budget = policy.Budget()
    assert budget.allows(400)
    budget.spent = policy.FIRST
    assert not budget.allows(1)
    for _ in range(100):
        budget.ran(100, 0.1)
    assert budget.allows(100)


LENGTHS = """
import jtorch as torch
def programs(lengths):
    torch.engine.forget()
    counters = torch.engine.stats.counters
    model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(10)])
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    before = counters.programs
    for turn in range(32):
        for n in lengths:
            optimizer.zero_grad()
            model(torch.ones(n, 64)).square().mean().backward()
            optimizer.step()
    return counters.programs - before
print([programs(range(40, 40 + n)) for n in (1, 3, 40)])
"""


@pytest.mark.one_mode
@pytest.mark.slow
def test_of_many_lengths_a_few_are_compiled(run_forked):
    """Each program costs a second, and a shape among many does not repay it soon. The first shapes are as fast as
    before.
    """
    one, few, many = ast.literal_eval(run_forked(LENGTHS, {"JTORCH_ENGINE": "auto", "JTORCH_CACHE": "0"}))
    assert one > 0 and few >= 3 and 4 <= many < 20, (one, few, many)


# ---------------------------------------------------------------- mechanisms

START = """
import jtorch as torch
from jtorch.engine import stats
counters = stats.counters
"""
LOOP = """
torch.manual_seed(0)
layers = [m for _ in range(6) for m in (torch.nn.Linear(256, 256), torch.nn.ReLU())]
model = torch.nn.Sequential(*layers, torch.nn.Linear(256, 4))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(64, 256), torch.randint(0, 4, (64,))
for turn in range(25):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    loss.item()
"""
# This setting compiles nothing in the background.
AT_ONCE = "from jtorch.engine import policy\npolicy.FOREGROUND = float('inf')\n"
FIRES = {
    "programs, early starts, known backwards, departures": (
        AT_ONCE + LOOP + "for _ in range(3): (model(x) * 2).sum().item()",
        "program_runs > 10 and counters.programs > 0 and counters.early_starts_used > 5 and counters.walks > 5 and counters.departures > 0"),
    "equal pieces of a trace": (LOOP.replace("range(6)", "range(60)"), "equal_programs > 2 and counters.programs < 9"),
    "attention's weights handed on to backward": ("""
from jtorch.engine import pieces
pieces._ends = lambda path, outs: [len(path) // 2, len(path)]
x = torch.randn(2, 4, 16, 8, requires_grad=True)
for _ in range(40):
    (torch.nn.functional.scaled_dot_product_attention(x, x * 2, x * 3) + x).square().mean().backward()
    with torch.no_grad():
        x -= x.grad
    x.grad = None
    x.sum().item()
""", "handed_on > 0"),
    "what XLA computes number by number is left to the host": ("""
x = torch.rand(256, 256)
for _ in range(40):
    (torch.sin(x).cos() * torch.atan(x)).sum().item()
    x.cumsum(1)[0, 0].item()
    x.max(1)[1][0].item()
""", "refused > 0 and counters.programs + counters.kernels == 0"),
    "what later pieces read the shapes of": (LOOP.replace("range(6)", "range(60)").replace(
        "torch.nn.ReLU())", "torch.nn.Unflatten(1, (16, 16)), torch.nn.Flatten(), torch.nn.ReLU())"), "left_out > 50"),
    "compiling in the background": ("from jtorch.engine import policy\npolicy.SLACK = 0.01\n" + LOOP.replace("_ in range(6)", "k in range(40)").replace("Linear(256, 256)", "Linear(256 + k, 257 + k)")
                                  .replace("Linear(256, 4)", "Linear(296, 4)"), "background > 1"),
    "a loop over parts of the input": (AT_ONCE + """
torch.manual_seed(0)
cell, head = torch.nn.GRUCell(8, 64), torch.nn.Linear(64, 1)
x, optimizer = torch.randn(32, 60, 8), torch.optim.SGD([*cell.parameters(), *head.parameters()], 1e-3)
for turn in range(20):
    h, loss = torch.zeros(32, 64), 0
    for t in range(60):
        h = cell(x[:, t], h)
        loss = loss + head(h).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""", "equal_programs > 20"),
    "a loop of equal turns within a step": (AT_ONCE + """
torch.manual_seed(0)
field = torch.nn.Sequential(torch.nn.Linear(2, 50), torch.nn.Tanh(), torch.nn.Linear(50, 2))
optimizer = torch.optim.Adam(field.parameters())
start = torch.randn(64, 2)
for turn in range(20):
    y = start
    for _ in range(60):
        a = field(y)
        b = field(y + 0.025 * a)
        y = y + 0.05 * (a + b)
    optimizer.zero_grad()
    y.square().mean().backward()
    optimizer.step()
""", "program_runs > 50 and counters.programs < 9"),
    "open sizes": ("for n in range(3, 30): torch.ones(n, 4).softmax(1).sum().item()", "open_traces > 0 and counters.open_sizes > 20"),
    "slices of a data set": ("""
torch.manual_seed(0)
data, labels = torch.randn(6 * 64 + 17, 32), torch.randint(0, 4, (6 * 64 + 17,))
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(20):
    for i in range(0, len(data), 64):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(data[i:i + 64]), labels[i:i + 64]).backward()
        optimizer.step()
""", "program_runs > 90 and counters.programs < 4"),
    "rows of a data set": ("""
torch.manual_seed(0)
data, labels = torch.randn(50, 16, 32), torch.randint(0, 4, (50, 16))
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters())
for i in range(50):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(data[i]), labels[i]).backward()
    optimizer.step()
""", "program_runs > 20 and counters.programs < 3"),
    "untraced ops": ("x = torch.zeros(30, 4)\nfor k in range(30): x[k][k % 4] = 1.0\nx.sum().item()", "untraced > 25"),
    "writes to a table": ("""
table, row = torch.randn(2000, 64), torch.ones(64)
for k in range(40):
    table[k] = row
    table[torch.tensor([k + 50, k + 51])] += 1
    table[:, k].mul_(2)
    table.sum().item()
""", "overwritten > 80"),
    "parts of a table that come once": ("""
table, row = torch.zeros(2000, 64), torch.ones(64)
for k in range(100):
    table[k] = row
    table[k, 3].item()
""", "parts_written > 30"),
    "vmap": ("w = torch.ones(64, 800)\nfor _ in range(20):\n"
             "    w = w - torch.vmap(torch.func.grad(lambda v: v.tanh().exp().sum()))(w)\n    w.sum().item()",
             "batched > 50 and counters.program_runs > 5"),
    "timing loops": ("a = torch.ones(64, 64)\nfor _ in range(200):\n    for _ in range(20): _ = a.exp()\n    a.sum().item()", "timing_loops == 1"),
    "refusals": ("a = torch.ones(256, 256)\nfor _ in range(200): (a @ a)[0, 0].item()", "refused > 0 and counters.programs == 0"),
    "the limit of programs": ("from jtorch.engine import policy\npolicy.MAX_PROGRAMS = 2\n"
                              "for _ in range(60):\n    for n in range(3, 7):\n        x = torch.ones(n)\n"
                              "        for _ in range(30): x = (x * 1.01).tanh()\n        x.sum().item()", "dropped > 0"),
}


LONG = {"equal pieces of a trace", "what later pieces read the shapes of", "compiling at several ends",
        "a loop over parts of the input", "a loop of equal turns within a step",
        "slices of a data set", "attention's weights handed on to backward"}


@pytest.mark.one_mode
@pytest.mark.parametrize("name", cases(FIRES, FIRES.keys() - LONG))
def test_a_mechanism_fires(run_forked, name):
    code, condition = FIRES[name]
    out = run_forked(f"{START}{code}\nprint(counters.{condition}, counters)", {"JTORCH_ENGINE": "auto", "JTORCH_CACHE": ""})
    assert out.startswith("True"), out


# ---------------------------------------------------------------- the same bits

SAME = """
import hashlib, random, sys, threading
import jtorch as torch
from jtorch.nn import functional as F
torch.manual_seed(0)
draw = random.Random(0)
if "thread" in sys.argv:        # other work, in another thread
    stop = threading.Event()
    def others():
        a = torch.ones(5)
        while not stop.is_set():
            a = (a * 1.5 - 0.5).tanh() + 1
            a.sum().item()
    thread = threading.Thread(target=others)
    thread.start()
model = torch.nn.Sequential(torch.nn.Linear(20, 48), torch.nn.GELU(), torch.nn.Dropout(0.3), torch.nn.Linear(48, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for turn in range(90):
    n = draw.choice([8, 8, 8, 8, 7])
    x, y = torch.randn(n, 20), torch.randint(0, 5, (n,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if turn % 3:
        loss.item()
if "thread" in sys.argv:
    stop.set()
    thread.join()
digest = hashlib.sha256()
for p in model.parameters():
    digest.update(p.detach().numpy().tobytes())
print(digest.hexdigest(), torch.engine.stats.counters.program_runs > 30 or "thread" in sys.argv)
"""


@pytest.mark.one_mode
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "eager", "hot"])
def test_each_run_gives_the_same_bits(run_python, run_forked, mode, tmp_path):
    """The runs have a cold and a warm disk cache, other hashes of strings, a second thread, and a busy machine."""
    env = {"JTORCH_ENGINE": mode, "JTORCH_CACHE": str(tmp_path / "cache")}
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 if mode == "auto" else 0)]
    try:
        first = run_forked(SAME, env)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert run_python(SAME, {**env, "PYTHONHASHSEED": "7"}) == first
    other = run_forked(f"import sys\nsys.argv.append('thread')\n{SAME}", env)
    assert other.split()[0] == first.split()[0]
