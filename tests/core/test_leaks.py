"""Memory does not grow: short forms of the loops of ``scripts/bench --memory``, views, and a long chain."""
from __future__ import annotations

import gc
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import jtorch
from jtorch import engine

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.leaks import LOOPS, alive, chain, grown

CONSTANTS = 8       # The package keeps up to this many constants, such as a gradient of 1.


@pytest.mark.parametrize("name", [name for name in LOOPS if "vary" not in name])
def test_a_loop_leaves_nothing_behind(name):
    grown(LOOPS[name], 20, 20)
    _, left = grown(LOOPS[name], 20, 200)
    assert {kind: n for kind, n in left.items() if n > (CONSTANTS if kind == "Value" else 0)} == {}


@pytest.mark.slow
@pytest.mark.one_mode
@pytest.mark.parametrize("name", ["training", "inference without a read"])
def test_a_loop_does_not_grow(name):
    """A leak grows in each part of the loop. Memory of the allocator or of another thread does not."""
    grown(LOOPS[name], 0, 1500)
    assert min(grown(LOOPS[name], 0, 500)[0] for _ in range(3)) < 4 << 20


@pytest.mark.parametrize("relu", [jtorch.relu, lambda t: jtorch.nn.functional.relu(t, inplace=True)])
def test_relu_keeps_its_result_alone(relu):
    before = jtorch.ones(1000, requires_grad=True) * 2
    held = weakref.ref(before.jax())
    after = relu(before)
    after.sum().item()
    del before
    assert held() is None
    after.sum().backward()


def test_a_loop_without_an_end_keeps_few_states_and_values():
    w = jtorch.ones(3)
    before = engine.local.recorder.trie.states
    for _ in range(20_000):
        w + 1
    assert len(engine.current().values) < 10_000
    assert engine.local.recorder.trie.states - before < 10_000


def test_calls_that_have_run_keep_nothing_that_nobody_holds():
    from benchmarks.leaks import resident
    x = jtorch.ones(1000, 1000)
    engine.end()
    before = resident()
    for _ in range(60):
        x = x * 1.5
    assert resident() - before < 100 << 20      # 60 results of 4 MB would exceed the limit.
    engine.end()


def test_a_long_chain_runs_forward_and_backward():
    assert chain(20_000) == 1


def test_a_view_keeps_its_storage_alive_and_a_copy_does_not():
    big = jtorch.zeros(1000, 1000)
    row, copied = big[3], big[3].clone()
    assert row.untyped_storage().nbytes() == 4_000_000
    assert copied.untyped_storage().nbytes() == 4_000
    storages = alive()["Storage"]
    del big
    assert alive()["Storage"] == storages       # The row holds the storage.
    del row
    assert alive()["Storage"] == storages - 1


def test_what_a_graph_saved_goes_with_its_backward():
    x = jtorch.ones(1000, requires_grad=True)
    y = x
    for _ in range(50):
        y = y.sin()
    before = alive()["Value"]
    y.sum().backward()
    assert alive()["Value"] <= before - 45


def test_a_batch_of_shared_memory_copies_the_batch_only():
    data = np.ones((2000, 1000), np.float32)
    t = jtorch.from_numpy(data)
    gc.collect()
    from benchmarks.leaks import resident
    t[3].sum().item()

    def batches():
        made = [t[i * 8:i * 8 + 8] * 1 for i in range(20)]
        engine.end()
        return made

    batches()       # Compiling allocates memory too, so it comes first.
    before = resident()
    kept = batches()
    assert resident() - before < 4 << 20        # 20 batches of 32 kB fit, of 8 MB do not.
    assert len(kept) == 20


def of_a_size(n):
    x = jtorch.ones(n, 3, requires_grad=True)
    (x @ x.t()).softmax(-1).cumsum(0).sum().backward()
    return weakref.ref(x)


def refused(n):
    x = jtorch.ones(n, 3, requires_grad=True)
    held = weakref.ref(x)
    for mistake in (lambda: jtorch.add(x, "no"), lambda: x + "no", lambda: x[99], lambda: x.view(7, 7), lambda: x.add_(1),
                    lambda: jtorch.cat([x, 3]), lambda: (x.exp() + jtorch.ones(n, 11)).sum()):
        with pytest.raises((TypeError, IndexError, RuntimeError)):
            mistake()
    return held


@pytest.mark.parametrize("function", [of_a_size, refused])
def test_what_a_function_held_is_given_back_when_it_ends_not_when_garbage_is_collected(function):
    gc.collect()
    gc.disable()
    try:
        assert [held() for held in [function(n) for n in range(3, 9)]] == [None] * 6
    finally:
        gc.enable()
