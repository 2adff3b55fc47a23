"""An exception may come at any moment: Ctrl-C, an alarm, a lack of memory. Nothing is lost, and the program continues.

Python handles signals at the entry of a function, after a call and at the turn of a loop. ``interrupted`` raises at the k-th
such place within the package or JAX, so these tests find the same places in each run.
"""
from __future__ import annotations

import dis
import math
import random
import signal
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from jax._src import core

import jtorch
from jtorch import speedups
from jtorch._base.config import ENGINE_MODE
from jtorch.engine import jax_settings, policy, program
from jtorch.engine.host.program import trace
from jtorch.engine.kernel import for_xla

# A finalizer or JAX's callback of the garbage collection raises without a caller; Python then warns.
UNRAISABLE = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
pytestmark = [pytest.mark.core, UNRAISABLE]
OURS = (str(Path(jtorch.__file__).parent), str(Path(jax.__file__).parent))
BEHIND = {"RESUME", "CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
WITHOUT = {"is_constant_dim"}      # These functions of JAX handle any exception.
_names: dict = {}


@pytest.fixture(autouse=True)
def what_jax_keeps():
    """Restore JAX's settings. An interrupt between the entry of a ``with`` statement and its body may leave one changed."""
    before = jax_settings.found()
    yield
    jax_settings.put_back(before)


class Places:
    """A trace function that counts the places where a signal could be handled, and raises at one of them."""

    def __init__(self, at: int, error: BaseException):
        self.at, self.error, self.count, self.before = at, error, 0, {}

    def __call__(self, frame, event, arg):
        if not frame.f_code.co_filename.startswith(OURS) or frame.f_code.co_name in WITHOUT:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self.before[id(frame)] = "RESUME"       # Python 3.11 reports this opcode with the call event only.
        return self.opcode

    def opcode(self, frame, event, arg):
        if event == "opcode":
            code = frame.f_code
            names = _names.get(code)
            if names is None:
                names = _names[code] = {i.offset: i.opname for i in dis.get_instructions(code)}
            if self.before.get(id(frame)) in BEHIND:
                self.count += 1
                if self.count == self.at:
                    sys.settrace(None)
                    raise self.error
            self.before[id(frame)] = names.get(frame.f_lasti)
        elif event == "return":
            self.before.pop(id(frame), None)
        return self.opcode


def interrupted(fn, at: int, error: BaseException) -> int:
    """Run ``fn`` with an error at a place. Return the number of places, or 0 if the error came out of ``fn``."""
    places, before = Places(at, error), sys.gettrace()
    sys.settrace(places)
    try:
        fn()
    except (type(error), ValueError, AttributeError) as raised:
        if raised is not error and not made_by_jax(raised):
            raise
        return 0
    finally:
        sys.settrace(before)
    return places.count


def made_by_jax(raised: BaseException) -> bool:
    """Return whether JAX made an error of an exception, during C++'s comparison of cache keys or a check of a size.

    ``core.is_constant_dim`` treats any exception as a no.
    """
    words = ("Cache keys should be comparable", "checking equality of metadata fields", "has no attribute '_get_vars'")
    return isinstance(raised, ValueError | AttributeError) and any([w in str(raised) for w in words])


def optimizer_loop():
    jtorch.manual_seed(0)
    model = jtorch.nn.Sequential(jtorch.nn.Linear(6, 16), jtorch.nn.ReLU(), jtorch.nn.Linear(16, 1))
    optimizer = jtorch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = jtorch.randn(8, 6), jtorch.randn(8, 1)

    def step():
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.item()
    return step, lambda: [*model.parameters(), *[v for s in optimizer.state.values() for v in s.values()], x, y]


def loop_by_hand():
    jtorch.manual_seed(0)
    w = jtorch.randn(6, 3, requires_grad=True)
    x, y, moved = jtorch.randn(8, 6), jtorch.randn(8, 3), jtorch.zeros(4, 6)
    row = moved[1]

    def step():
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        with jtorch.no_grad():
            w.sub_(w.grad, alpha=1e-2)
            w.grad.zero_()
            row.mul_(0.5).add_(1.0)
            moved[2:].copy_(moved[:2])
        return loss.item()
    return step, lambda: [w, x, y, moved, row]


def growing_loop():
    jtorch.manual_seed(0)
    w, state = jtorch.randn(4, 4), {"cache": jtorch.randn(1, 4)}

    def step():
        cache = state["cache"]
        new = (cache @ w).softmax(-1).mean(0, keepdim=True)
        state["cache"] = jtorch.cat([cache[-30:], new])
        return new.sum().item()
    return step, lambda: [w, state["cache"]]


def loop_of_ever_new_sizes():
    """Return a loop with a new size in each turn. After the first turns its traces stray."""
    jtorch.manual_seed(0)
    w, state = jtorch.randn(4, 3, requires_grad=True), {"n": 5}
    row = jtorch.zeros(3)

    def step():
        state["n"] += 1
        x = jtorch.randn(state["n"], 4)
        loss = (x @ w).square().mean()
        loss.backward()
        with jtorch.no_grad():
            w.sub_(w.grad, alpha=1e-2)
            w.grad.zero_()
            row[1:].copy_(x[0, :2])
        return loss.item()
    return step, lambda: [w, row]


LOOPS = [optimizer_loop, loop_by_hand, growing_loop]
LONG = [pytest.mark.slow, pytest.mark.one_mode]
ONE_LOOP = [growing_loop, *[pytest.param(make, marks=LONG) for make in (optimizer_loop, loop_by_hand)]]
FOUR_LOOPS = [loop_by_hand, *[pytest.param(make, marks=LONG) for make in (optimizer_loop, growing_loop, loop_of_ever_new_sizes)]]


def check_all_is_there(tensors):
    for t in tensors:
        assert np.isfinite(t.detach().numpy().copy() if t.is_leaf else t.detach().clone().numpy()).all()


def interrupt_often(make, first, tries, error):
    """Interrupt turns of a loop at evenly spaced places. The turns between must succeed."""
    for _ in range(2):      # Count the second turn: the first one of a process does more work.
        step, tensors = first()
        total = interrupted(step, -1, error)
    hit = 0
    for k in range(tries):
        step, tensors = make() if make is not None else (step, tensors)
        hit += not interrupted(step, 1 + total * k // tries, error)
        check_all_is_there(tensors())
        for _ in range(1 + k % 3):
            assert math.isfinite(step())
    assert hit > tries // 6     # A compiled turn has 1/2 to 1/5 of the places of the counted turn.


@pytest.mark.parametrize("make", FOUR_LOOPS)
def test_a_loop_that_has_a_program_goes_on_behind_an_error_at_any_place(make, lane):
    def warm():
        step, tensors = make()
        for _ in range(40):
            step()
        return step, tensors
    interrupt_often(None, warm, {"fast": 20, "all": 40, "nightly": 80}[lane], KeyboardInterrupt("here"))


def test_a_backward_leaves_the_grad_mode_and_no_task_behind():
    """The interrupt comes at the end of the backward."""
    x = jtorch.ones(3, requires_grad=True)

    def backward():
        (x * 2).sum().backward()

    backward()
    places = interrupted(backward, -1, KeyboardInterrupt())
    for at in range(max(1, places - 100), places + 1):
        interrupted(backward, at, KeyboardInterrupt("here"))
        assert jtorch.is_grad_enabled()
        with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
            jtorch.autograd.Variable._execution_engine.queue_callback(print)
    x.grad = None
    backward()
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("make", ONE_LOOP)
def test_a_first_turn_may_be_interrupted_at_any_place(make):
    """The first turn traces functions and makes kernels."""
    def cold():
        jtorch.engine.forget()
        return make()
    interrupt_often(cold, cold, 15, KeyboardInterrupt("here"))


@pytest.mark.slow
@pytest.mark.parametrize("make, in_pieces", [*[(make, False) for make in LOOPS], (optimizer_loop, True)])
def test_compiling_may_be_interrupted_at_any_place(make, in_pieces, monkeypatch):
    """The turn compiles a program, or the first pieces of a large one."""
    if ENGINE_MODE == "eager":
        pytest.skip("nothing is compiled")
    if in_pieces:
        for name, value in {"FOREGROUND": 0.0, "SLACK": 0.01, "SAVED": 0.012, "shortest_piece": lambda: 0.0,
                            "MAX_CROSSING": 1 << 40}.items():
            monkeypatch.setattr(policy, name, value)

    def about_to_compile():
        jtorch.engine.forget()
        jtorch.engine.local.recorder.trie.budget = policy.Budget()      # Earlier tests may have spent the budget.
        step, tensors = make()
        step()
        while ENGINE_MODE == "auto" and not any(s is not None and s.hot for s in jtorch.engine.local.recorder.trie.root.next.values()):
            step()
        return step, tensors
    interrupt_often(about_to_compile, about_to_compile, 12, MemoryError("here"))


@pytest.mark.parametrize("make", FOUR_LOOPS)
def test_signals_at_random_moments(make):
    """The signals come from outside, like Ctrl-C."""
    step, tensors = make()
    for _ in range(40):
        step()

    def handler(*_):
        raise KeyboardInterrupt

    rng, before = random.Random(0), signal.signal(signal.SIGALRM, handler)
    try:
        for _ in range(60):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(2e-4, 4e-3))
                for _ in range(1000):
                    step()
            except KeyboardInterrupt:
                pass
            except (ValueError, AttributeError) as error:
                assert made_by_jax(error)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            check_all_is_there(tensors())
            # As in PyTorch, the interrupt may come at the end of ``no_grad``, before the mode is restored.
            if speedups.native is None:
                jtorch.set_grad_enabled(True)
            assert jtorch.is_grad_enabled()
            assert math.isfinite(step())
    finally:
        signal.signal(signal.SIGALRM, before)


def test_an_interrupt_that_jax_makes_an_error_of_is_one():
    def compared():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise ValueError("Exception raised while checking equality of metadata fields of pytree.") from interrupt
    with pytest.raises(KeyboardInterrupt):
        for_xla(compared)


def test_an_interrupt_while_numbers_are_packed(monkeypatch):
    """A constant learning rate is put on the device once."""
    if ENGINE_MODE == "eager":
        pytest.skip("there are no programs")
    jtorch.engine.forget()
    step, _ = optimizer_loop()
    losses = [step() for _ in range(40)]
    programs = [made for made in program._programs.values() if made.floats]

    def interrupted(*_):
        raise KeyboardInterrupt
    with monkeypatch.context() as patched:
        patched.setattr(program, "put", interrupted)
        for made in programs:
            made.packed, made.stays = [np.asarray(x) for x in made.packed], False
            with pytest.raises(KeyboardInterrupt):
                made._pack(list(made.last_numbers))
    assert programs
    losses.append(step())
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("run", [lambda fn: for_xla(lambda: jax.jit(fn).trace()), lambda fn: trace(fn, ())], ids=["XLA", "host"])
def test_an_interrupt_while_jax_traces_leaves_it_as_it_was(run):
    def interrupted_between_blocks_and_their_beginnings():
        jax.threefry_partitionable(not jax.config.jax_threefry_partitionable).__enter__()
        jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((1,), ("x",))).__enter__()
        core.trace_ctx.set_trace(None)
        raise KeyboardInterrupt

    key = jax.random.key(0)
    before, drawn = jax_settings.found(), jax.random.uniform(key, (4,)).tolist()
    with pytest.raises(KeyboardInterrupt):
        run(interrupted_between_blocks_and_their_beginnings)
    assert all(now is then for now, then in zip(jax_settings.found(), before, strict=True))
    assert jax.random.uniform(key, (4,)).tolist() == drawn


def test_an_entry_of_jaxs_caches_that_an_interrupt_left_half_made_is_made_anew(monkeypatch):
    def fn(x):
        return x * 3
    left = [RecursionError("Recursively calling <weakref_lru_cache> with weakref_key=fn")]
    emptied, clear = [], jax.clear_caches
    monkeypatch.setattr(jax, "clear_caches", lambda: (emptied.append(1), left.clear(), clear()))

    def make():
        if left:
            raise left[0]
        return jax.jit(fn).lower(np.float32(1)).compile()
    assert for_xla(make)(np.float32(2)) == 6
    assert emptied == [1]
    with pytest.raises(RecursionError, match="maximum"):
        for_xla(lambda: (_ for _ in ()).throw(RecursionError("maximum recursion depth exceeded")))
    assert emptied == [1]
