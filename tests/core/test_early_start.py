"""An early start is a guess. A loop gives PyTorch's results even if the guess is wrong."""
from __future__ import annotations

import numpy as np
import pytest
from libraries import library

from jtorch._base.config import ENGINE_MODE

pytestmark = pytest.mark.core
STEPS = 45      # The loop is long enough to be compiled and to start early.


def mlp(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 96), torch.nn.ReLU(), torch.nn.Linear(96, 96), torch.nn.ReLU(),
                               torch.nn.Linear(96, 4))


def batches(torch):
    rng = np.random.default_rng(0)
    return [(torch.tensor(rng.standard_normal((48, 6)).astype("f")), torch.tensor(rng.integers(0, 4, 48))) for _ in range(STEPS)]


def trained(torch, turn, optimizer="Adam"):
    """Return the results of ``turn(i, model, optimizer, x, y)`` in each turn of a loop, and the final weights."""
    model = mlp(torch)
    made = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-2)
    given = [turn(i, model, made, x, y) for i, (x, y) in enumerate(batches(torch))]
    return given, [p.detach().tolist() for p in model.parameters()]


def step(torch, model, optimizer, x, y, loss_of=None):
    optimizer.zero_grad()
    loss = (loss_of or torch.nn.functional.cross_entropy)(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def same_as_pytorch(torch, turn_of, **kw):
    given, weights = trained(library("jtorch"), turn_of(library("jtorch")), **kw)
    expected, expected_weights = trained(torch, turn_of(torch), **kw)
    np.testing.assert_allclose(given, expected, rtol=2e-3, atol=1e-5)
    for a, b in zip(weights, expected_weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-4)


def test_a_plain_loop(torch):
    same_as_pytorch(torch, lambda lib: lambda i, m, o, x, y: step(lib, m, o, x, y))


def test_another_loss_behind_the_same_calls(torch):
    """A turn begins with the calls of training, and then differs."""
    def turn_of(lib):
        def turn(i, m, o, x, y):
            if i % 3:
                return step(lib, m, o, x, y)
            with lib.no_grad():
                loss = lib.nn.functional.cross_entropy(m(x), y)
                return loss.item() + (m(x).argmax(1) == y).float().mean().item()
        return turn
    same_as_pytorch(torch, turn_of)


def test_a_backward_of_another_gradient(torch):
    def turn_of(lib):
        half = lib.tensor(0.5)

        def turn(i, m, o, x, y):
            o.zero_grad()
            loss = lib.nn.functional.cross_entropy(m(x), y)
            loss.backward(half if i > 25 else None)
            o.step()
            return loss.item()
        return turn
    same_as_pytorch(torch, turn_of)


def test_a_number_that_comes_again(torch):
    """An early start may take backward's exponent from forward. It may not take the rate from the loss, which has the same
    number by chance at first.
    """
    def turn_of(lib):
        def turn(i, m, o, x, y):
            o.zero_grad()
            loss = ((m(x) + 0.125).abs() ** (2.0 if i != 35 else 3.0)).mean()
            loss.backward()
            with lib.no_grad():
                for p in m.parameters():
                    p.sub_((0.125 if i < 25 else 0.03125) * p.grad)
            return loss.item()
        return turn
    same_as_pytorch(torch, turn_of)


def test_gradients_that_add_up(torch):
    def turn_of(lib):
        def turn(i, m, o, x, y):
            loss = lib.nn.functional.cross_entropy(m(x), y)
            loss.backward()
            if i % 4 == 3:
                o.step()
                o.zero_grad()
            return loss.item()
        return turn
    same_as_pytorch(torch, turn_of)


def test_a_hook_between_forward_and_backward(torch):
    def turn_of(lib):
        def turn(i, m, o, x, y):
            o.zero_grad()
            loss = lib.nn.functional.cross_entropy(m(x), y)
            handle = m[0].weight.register_hook(lambda g: g * 2) if i in (28, 36) else None
            loss.backward()
            if handle is not None:
                handle.remove()
            o.step()
            return loss.item()
        return turn
    same_as_pytorch(torch, turn_of)


def test_a_wrong_target_is_told_and_changes_nothing_later():
    jt = library("jtorch")
    model = mlp(jt)
    optimizer = jt.optim.SGD(model.parameters(), lr=0.01)
    raised = []
    for i, (x, y) in enumerate(batches(jt)):
        try:
            step(jt, model, optimizer, x, y if i != 30 else jt.full_like(y, 9))
        except IndexError as error:
            raised.append((i, str(error)))
            model = mlp(jt)
            optimizer = jt.optim.SGD(model.parameters(), lr=0.01)
    assert raised == [(30, "Target 9 is out of bounds.")]
    assert all(bool(jt.isfinite(p).all()) for p in model.parameters())


def test_memory_shared_with_numpy_written_before_backward(torch):
    """The loss reads the batch at its call. A later write belongs to the next turn."""
    def turn_of(lib):
        shared = np.zeros((48, 6), "f")
        view = lib.from_numpy(shared)

        def turn(i, m, o, x, y):
            shared[:] = x.numpy()
            o.zero_grad()
            loss = lib.nn.functional.cross_entropy(m(view.clone()), y)
            shared[:] = 100
            loss.backward()
            o.step()
            return loss.item()
        return turn
    same_as_pytorch(torch, turn_of)


def test_weights_held_by_somebody_are_not_overwritten():
    """The second program may overwrite the parameters only without another holder."""
    jt = library("jtorch")
    model = mlp(jt)
    optimizer = jt.optim.Adam(model.parameters(), lr=0.1)
    kept = []
    for x, y in batches(jt):
        kept.append((model[0].weight.detach().jax(), model[0].weight.detach().clone().numpy().copy()))
        step(jt, model, optimizer, x, y)
    for held, copied in kept:
        np.testing.assert_array_equal(np.asarray(held), copied)


def test_a_reading_thread_sees_finished_weights(torch):
    """Another thread that reads during a step gets the step's result."""
    import threading
    jt = library("jtorch")
    model = mlp(jt)
    optimizer = jt.optim.SGD(model.parameters(), lr=0.01)
    seen = []
    for x, y in batches(jt):
        step(jt, model, optimizer, x, y)
        reader = threading.Thread(target=lambda: seen.append([p.detach().numpy().copy() for p in model.parameters()]))
        reader.start()
        reader.join()
        for a, p in zip(seen[-1], model.parameters(), strict=True):
            np.testing.assert_array_equal(a, p.detach().numpy())


@pytest.mark.slow
@pytest.mark.one_mode
def test_no_more_is_compiled_than_there_is_time_for(run_forked):
    code = """
import jtorch
from jtorch.engine import cost, policy
policy.FIRST, policy.SHARE, cost.START = 0.4, 0.0, 0.0       # seconds: a trace of 22 calls is expected to take 0.12
for turn in range(40):
    for n in range(8):
        x = jtorch.ones(n + 3)
        for _ in range(10):
            x = (x * 1.01).tanh()
        x.sum().item()
print(str(jtorch.engine.report()).split(" programs")[0])
"""
    assert 1 <= int(run_forked(code, {"JTORCH_ENGINE": "auto", "JTORCH_CACHE": ""})) < 8


def test_a_long_record_is_several_programs(torch, monkeypatch):
    from jtorch import engine
    from jtorch.engine import policy
    monkeypatch.setattr(policy, "MAX_CALLS", 4)
    monkeypatch.setattr(policy, "FIRST", float("inf"))
    monkeypatch.setattr(policy, "FOREGROUND", float("inf"))
    monkeypatch.setattr(policy, "compile_seconds", lambda calls: 0.0)
    engine.forget()
    before = engine.stats.counters.programs
    same_as_pytorch(torch, lambda lib: lambda i, *args: step(lib, *args))
    engine.forget()
    if ENGINE_MODE != "eager":
        assert engine.stats.counters.programs - before >= 4
