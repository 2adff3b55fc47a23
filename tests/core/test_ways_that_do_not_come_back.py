"""After many paths from one state, a trace on a new path makes no states until the path repeats."""
from __future__ import annotations

import threading

import numpy as np
import pytest

import jtorch
from jtorch._base.config import ENGINE_MODE
from jtorch.engine import policy
from jtorch.engine.stats import counters

pytestmark = [pytest.mark.core, pytest.mark.skipif(ENGINE_MODE == "hot", reason="all calls are held back")]


@pytest.fixture(autouse=True)
def many_ways(monkeypatch):
    """Allow two next calls per state, and take four paths, so that further paths must stray."""
    monkeypatch.setattr(policy, "MANY", 2)
    jtorch.engine.forget()
    for n in (3, 4, 5, 6):
        step(n)
    yield
    jtorch.engine.forget()


def states() -> int:
    return jtorch.engine.local.recorder.trie.states


def step(n: int, calls: int = 20) -> float:
    x = jtorch.ones(n)
    for _ in range(calls):
        x = x + 1
    return x.sum().item()


def test_ways_that_come_once_leave_no_states():
    before, strayed = states(), counters.strayed
    assert [step(n) for n in range(10, 60)] == [n * 21.0 for n in range(10, 60)]
    assert counters.strayed - strayed == 50
    assert states() - before == 50      # Each path leaves one state.
    step(10)
    assert states() - before > 50 + 20
    assert counters.strayed - strayed == 50


def test_a_way_that_comes_back_gets_a_program(monkeypatch):
    monkeypatch.setattr(policy, "FOREGROUND", float("inf"))
    if ENGINE_MODE != "auto":
        pytest.skip("no mode has programs but auto")
    runs = counters.program_runs
    assert {step(100, 60) for _ in range(60)} == {6100.0}
    assert counters.program_runs > runs + 20


def test_a_trace_that_has_strayed_ends_where_others_end():
    strayed = counters.strayed
    for n in range(10, 30):
        x = jtorch.ones(n) * 2
        assert x.sum().item() == 2 * n      # The read ends the trace, so the next turn strays again.
    assert counters.strayed - strayed >= 19


def test_one_that_is_never_read_is_cut(monkeypatch):
    recorder = jtorch.engine.local.recorder
    monkeypatch.setattr(recorder, "longest", 16)
    x, before = jtorch.ones(50), recorder.trace
    for _ in range(200):
        x = x * 1.5 - x / 2
    assert recorder.trace is not before
    np.testing.assert_allclose(x.numpy(), 1.0, rtol=1e-4)
    recorder.cuts = 0


def gradients(lengths, seed: int = 0) -> list:
    jtorch.manual_seed(seed)
    model = jtorch.nn.Sequential(jtorch.nn.Linear(4, 8), jtorch.nn.Tanh(), jtorch.nn.Linear(8, 2))
    optimizer = jtorch.optim.Adam(model.parameters(), lr=1e-2)
    for n in lengths:
        x = jtorch.randn(n, 4)
        optimizer.zero_grad()
        loss = jtorch.nn.functional.cross_entropy(model(x), jtorch.arange(n) % 2)
        loss.backward()
        optimizer.step()
    return [p.tolist() for p in model.parameters()]


@pytest.mark.parametrize("lengths", [range(5, 25), [*range(5, 15)] * 4])
def test_training_gives_the_same_numbers(lengths, monkeypatch):
    """Backward and the optimizer's step continue on a trace that has strayed."""
    strayed = counters.strayed
    with_few = gradients(lengths)
    assert counters.strayed > strayed
    monkeypatch.setattr(policy, "MANY", 1 << 30)
    jtorch.engine.forget()
    for a, b in zip(with_few, gradients(lengths), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_an_error_leaves_all_as_it_was():
    x = jtorch.ones(40) * 3
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        x + jtorch.ones(7)
    with pytest.raises(IndexError, match="out of range"):
        jtorch.nn.functional.embedding(jtorch.tensor([9]), x.view(4, 10))
    assert (x + 1).sum().item() == 160


def test_results_several_at_once_and_written_in_place():
    x = jtorch.arange(40.0).view(4, 10) * 1
    a, b = x.max(1)
    x[2] = -1.0
    x[0].mul_(0.0)
    y = x.clone()
    assert (a.tolist(), b.tolist()) == ([9, 19, 29, 39], [9, 9, 9, 9])
    assert y.sum(1).tolist() == [0, 145, -10, 345]


def test_another_thread_may_read_it():
    x, found = jtorch.ones(40) * 3, []
    thread = threading.Thread(target=lambda: found.append((x + 1).sum().item()))
    thread.start()
    thread.join()
    assert found == [160]
    assert x.sum().item() == 120


def test_a_function_of_jax_may_run_in_it():
    x = jtorch.ones(40) * 3
    assert jtorch.func.grad(lambda t: (t * t).sum())(x).tolist() == [6.0] * 40
    assert jtorch.func.vmap(lambda t: t * 2)(x).sum().item() == 240
