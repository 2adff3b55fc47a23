"""The extension is used, loses no reference, refuses unknown cases, and gives the results of Python."""
from __future__ import annotations

import contextlib
import gc
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import jtorch as torch
from jtorch import engine, speedups, storage
from jtorch._base import late_bindings
from jtorch._base.config import ENGINE_MODE
from jtorch.dispatch import call, call_inplace
from jtorch.engine import call_of
from jtorch.ops.registry import NUMBERS, OPS, T
from jtorch.speedups.mirrors import PYTHON

pytestmark = pytest.mark.core
native = speedups.native
needs_it = pytest.mark.skipif(native is None, reason="the extension was not built, or is turned off")

LOOP = """
import jtorch as torch
from jtorch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
x, y = torch.randn(20, 8), torch.randint(0, 3, (20,))
for step in range(60):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y) + (model[0].weight ** 2).mean().sqrt() * x.T.mean()
    loss.backward()
    with torch.no_grad():
        model[0].bias.mul_(0.99).add_(0.01)
    optimizer.step()
    print(loss.item(), model[0].bias._version, loss.grad_fn)
"""


@pytest.mark.one_mode
# In auto mode the times of compilations would decide.
@pytest.mark.parametrize("mode", ["eager", pytest.param("hot", marks=pytest.mark.slow)])
def test_gives_what_python_alone_gives(run_forked, mode):
    with_it, without = [[line.split(" object")[0] for line in run_forked(
        LOOP, {"JTORCH_SPEEDUPS": on, "JTORCH_ENGINE": mode}).splitlines()] for on in ("1", "0")]
    assert with_it == without


@needs_it
def test_is_used():
    for fn in (engine.record, storage.value_of, late_bindings.wrap, call, call_inplace):
        assert type(fn).__name__ == "builtin_function_or_method"


@needs_it
def test_is_left_alone_where_its_sources_are_newer(tmp_path):
    built = Path(native.__file__)
    old = tmp_path / built.name
    old.write_bytes(b"")
    os.utime(old, (0, 0))
    assert not speedups.is_stale(old)       # An extension without sources beside it, as if installed, is never stale.
    (tmp_path / "trace.c").write_text("")
    assert speedups.is_stale(old)
    assert not speedups.is_stale(built)


def _steps():
    a, w = torch.rand(4, 4), torch.rand(4, 4, requires_grad=True)
    leaf, base = torch.rand(4, requires_grad=True), torch.rand(2, 4, 4, requires_grad=True)
    sgd = torch.optim.SGD([w, leaf], 1e-6, momentum=0.9)

    def raises():
        for wrong in (lambda: w @ torch.rand(3, 3), lambda: a.add_(torch.rand(5, 4, 4)),
                      lambda: torch.zeros(3).long().add_(0.5)):
            with contextlib.suppress(RuntimeError), torch.no_grad():
                wrong()
                raise AssertionError
        engine.end()

    def in_place():
        with torch.no_grad():
            return a.mul_(1.0).add_(w, alpha=0.0).sub_(a * 0.0).sum().item()

    def inference():
        with torch.inference_mode():
            return (a * 2.0 + w).sum().item()

    def trains():
        sgd.zero_grad()
        loss = ((a @ w).tanh() ** 2 + leaf).exp().mean()
        loss.backward()
        sgd.step()
        return loss.item()

    def walks(retain):
        loss = (torch.relu(w) * a).max(0)[0].pow(leaf).sum()
        loss.backward(retain_graph=retain)
        return loss.item()

    def views():
        first, second = base.unbind(0)
        (first.t() @ second.reshape(16).view(4, 4) + base[0]).sum().backward()
        return base.grad.sum().item()

    return {"plain": lambda: (a * 2.0 - 1 + a).sum().item(), "several results": lambda: a.topk(2, 1)[0].sum().item(),
            "raises": raises, "in place": in_place, "inference": inference, "trains": trains, "walks": lambda: walks(False),
            "keeps the graph": lambda: walks(True), "views": views, "no read": lambda: (a * w, engine.end())}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.nightly] * (name == "raises")) for name in _steps()])
def test_loses_no_reference(name):
    step, constants = _steps()[name], (None, True, False)

    def counts():
        engine.end()
        gc.collect()
        return [*(sys.getrefcount(c) for c in constants), sys.getallocatedblocks()]

    grown = []
    # Memory for compiled code and for traces of failed runs stops growing after some rounds. A leak in each step does not.
    for _ in range(6):
        before = counts()
        for _ in range(400):
            step()
        grown.append(max([b - a for a, b in zip(before, counts(), strict=True)]))
        if grown[-1] < 300:
            return
    raise AssertionError(f"each 400 steps kept {grown}")


@needs_it
@pytest.mark.parametrize("wrong", [
    lambda: native.record(), lambda: native.record(1, 2), lambda: native.call(1, (1,)), lambda: native.call(call_of(OPS["neg"], (T,))),
    lambda: native.call_inplace(call_of(OPS["neg"], (T,)), ()), lambda: native.wrap(), lambda: native.wrap(1), lambda: native.wrap(None),
    lambda: native.wrap(1, 2, 3, 4), lambda: native.follow(1, 2, 3, 4, 5), lambda: native.value_of(1), lambda: native.values_of(1),
    lambda: native.values_of([1]), lambda: native.write_all([], [1]), lambda: native.write_all([1], [1]),
    lambda: native.call(call_of(OPS["neg"], (T,)), (object(),)),
    lambda: native.call(call_of(OPS["neg"], (T,)), (object.__new__(torch.Tensor),)),
    lambda: native.value_of(object.__new__(torch.Tensor))])
def test_takes_nothing_else(wrong):
    with pytest.raises((TypeError, ValueError, AttributeError, KeyError, IndexError)):
        wrong()
    assert (torch.ones(2) + 1).tolist() == [2, 2]


def test_numbers_of_all_kinds_and_tensors_are_told_apart():
    ones = torch.ones(2, dtype=torch.int64)
    for _ in range(3):      # Later turns find the calls in the operator's cache.
        assert [(ones * other).dtype for other in (2, 2.0, True, 2j, ones, torch.nn.Parameter(torch.ones(2)))] == [
            torch.int64, torch.float32, torch.int64, torch.complex64, torch.int64, torch.float32]
        assert (1 - ones).tolist() == [0, 0]
        assert (2.0 ** ones).tolist() == [2, 2]
        assert (3 / (ones + 1)).tolist() == [1.5, 1.5]
        with pytest.raises(TypeError):
            ones @ 2.0
        with pytest.raises(TypeError):
            ones + "1"
        with pytest.raises(RuntimeError, match="Subtraction"):
            True - ones


GARBAGE = """
import gc
import os
import jax
import jtorch as torch

jax.jit(abs)(1.0)       # JAX 0.12 imports a part of itself when it compiles first, and fails where it does so within that
class Reads:
    def __init__(self):
        self.itself, self.held = self, torch.ones(3)

    def __del__(self):
        read.append((self.held * 2 + 1).sum().item())

read = []
gc.set_threshold(1)
w = torch.ones(4, requires_grad=True)
for _ in range(40):
    Reads()
    loss = ((w * 2.0).tanh() + w.detach()).sum()
    loss.backward()
    w.grad = None
gc.collect()
print(f"{loss.item():.4f}", set(read), len(read), flush=True)
os._exit(0)     # jaxlib 0.10's tracebacks give back more than they took where a collection comes as one is made: its exit may crash
"""


@pytest.mark.one_mode
@pytest.mark.parametrize("mode", ["auto", pytest.param("eager", marks=pytest.mark.slow), "hot"])
@pytest.mark.parametrize("on", ["1", pytest.param("0", marks=pytest.mark.slow)])
def test_a_collection_of_garbage_may_run_calls_of_its_own(run_python, on, mode):
    assert run_python(GARBAGE, {"JTORCH_SPEEDUPS": on, "JTORCH_ENGINE": mode}) == "7.8561 {9.0} 40\n"


SLOTS = ("call", "args", "first", "depth", "device", "hot", "kernel", "leading", "line", "next", "nnumbers", "outs", "profile",
         "single", "walks", "early")


def test_states_that_c_makes_are_those_of_python():
    """The comparison covers all attributes of a state, and the user's line."""
    larger, exp = engine.call_of(OPS["maximum"], (T, T)), engine.call_of(OPS["exp"], (T,))
    doubled, several = engine.call_of(OPS["mul"], (T, NUMBERS[float])), engine.call_of(OPS["frexp"], (T,))
    recorder = engine.local.recorder

    def states(record):
        recorder.trie.clear()
        recorder.begin()
        x = engine.Value(engine.aval_of((3,), np.dtype(np.float32), engine.CPU), np.ones(3, np.float32))
        for _ in range(2):
            y = record(larger, (x, x))
            z = record(doubled, (y, 2.0))
            record(several, [record(exp, [z])])
        return [tuple([getattr(s, slot) for slot in SLOTS if slot != "next"]) for s in recorder.trace.state.path()], recorder.trie.states

    states(PYTHON["record"])        # This run makes the kernels.
    for _ in range(2):
        found = states(engine.record)
        assert found == states(PYTHON["record"]) and len(found[0]) == found[1] == 8
        assert all([Path(__file__).name in s[SLOTS.index("line")] for s in found[0]])


def test_what_is_forgotten_holds_nothing():
    """The garbage collector does not track states that C makes, so ``Trie.clear`` drops their references to each other."""
    if ENGINE_MODE == "hot":
        pytest.skip("programs hold the calls that they were made of")
    engine.forget()
    x = torch.ones(3)
    for _ in range(3):
        (x * x + x).exp().tolist()
    engine.end()
    kernel = next(iter(engine.local.recorder.trie.root.next.values())).kernel
    held = sys.getrefcount(kernel)
    del x       # The value refers to the trace that used it last.
    engine.local.recorder.trie.clear()
    engine.local.recorder.begin()
    assert sys.getrefcount(kernel) == held - 1
