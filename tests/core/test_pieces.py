"""A large trace is compiled piece by piece in the background. Pieces without a program run call by call."""
from __future__ import annotations

import numpy as np
import pytest
from libraries import library

import jtorch
from jtorch._base.config import ENGINE_MODE
from jtorch.engine import call_of, pieces, policy, stats
from jtorch.ops.registry import OPS, T

pytestmark = pytest.mark.core


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Cut traces into pieces of at least three calls, and compile about one of them per turn in the background."""
    monkeypatch.setattr(policy, "FOREGROUND", 0.0)
    monkeypatch.setattr(policy, "SLACK", 0.03)
    monkeypatch.setattr(policy, "SAVED", 0.012)
    monkeypatch.setattr(policy, "shortest_piece", lambda: 0.0)
    monkeypatch.setattr(policy, "MAX_CROSSING", 1 << 40)
    monkeypatch.setattr(policy, "FIRST", float("inf"))
    jtorch.engine.forget()
    yield
    jtorch.engine.forget()


def training(torch, optimizer="AdamW"):
    """Return a step of training, and a function that returns the tensors that it changes."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model = torch.nn.Sequential(torch.nn.Embedding(11, 12), torch.nn.Linear(12, 24), torch.nn.LayerNorm(24), torch.nn.GELU(),
                                torch.nn.Unflatten(1, (4, 6)), torch.nn.Flatten(), torch.nn.Linear(24, 24, bias=False),
                                torch.nn.BatchNorm1d(24), torch.nn.Tanh(), torch.nn.Linear(24, 4))
    made = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-2)
    x, y = torch.tensor(rng.integers(0, 11, 32)), torch.tensor(rng.integers(0, 4, 32))

    def step(y=y):
        made.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        made.step()
        return loss.item()
    return step, lambda: [*model.parameters(), *model.buffers()]


@pytest.mark.parametrize("optimizer", ["AdamW", "SGD"])
def test_a_loop_gives_what_pytorch_gives_while_its_pieces_are_compiled(torch, optimizer):
    def trained(lib):
        step, tensors = training(lib, optimizer)
        return [step() for _ in range(30)], [t.detach().tolist() for t in tensors()]
    before, left_out = stats.counters.background, stats.counters.left_out
    (losses, weights), (expected, expected_weights) = trained(library("jtorch")), trained(torch)
    assert ENGINE_MODE != "auto" or stats.counters.background - before >= 5
    # Unflatten and Flatten read only shapes, so their programs do not take the values.
    assert ENGINE_MODE == "eager" or stats.counters.left_out > left_out
    np.testing.assert_allclose(losses, expected, rtol=2e-3, atol=1e-5)
    for a, b in zip(weights, expected_weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-4)


def test_what_pieces_between_read_is_there(torch, monkeypatch):
    """Convolutions are in the first pieces, and the last piece has none."""
    monkeypatch.setattr(pieces, "_ends", lambda path, outs: [len(path) // 4, len(path) // 2, len(path) - 1, len(path)])

    def trained(torch):
        torch.manual_seed(0)
        layers = [m for _ in range(4) for m in (torch.nn.Linear(24, 24), torch.nn.LayerNorm(24), torch.nn.GELU())]
        model = torch.nn.Sequential(torch.nn.Conv1d(2, 4, 3), torch.nn.BatchNorm1d(4), torch.nn.Flatten(), *layers)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        x = torch.tensor(np.random.default_rng(0).normal(size=(5, 2, 8)).astype(np.float32))
        losses = []
        for _ in range(30):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses
    before = stats.counters.programs
    np.testing.assert_allclose(trained(library("jtorch")), trained(torch), rtol=2e-3, atol=1e-5)
    assert ENGINE_MODE != "auto" or stats.counters.programs > before + 1


@pytest.mark.parametrize("kind", ["plain", "causal", "masked", "bool mask", "double"])
def test_attention_s_weights_are_handed_on_to_backward(torch, monkeypatch, kind):
    """Backward in another piece than forward does not compute the weights again."""
    monkeypatch.setattr(pieces, "_ends", lambda path, outs: [len(path) // 3, len(path) // 2, len(path) - 1, len(path)])
    drawn = np.random.default_rng(0).normal(size=(3, 2, 5, 4)).astype(np.float64 if kind == "double" else np.float32)

    def trained(torch):
        x, y = (torch.tensor(drawn + k, requires_grad=True) for k in range(2))
        mask = {"masked": torch.linspace(-1, 1, 25).reshape(5, 5), "bool mask": torch.ones(5, 5, dtype=torch.bool).tril()}.get(kind)
        losses = []
        for _ in range(30):
            h = torch.nn.functional.scaled_dot_product_attention(x * 0.9, y * 1.1, y.tanh(), attn_mask=mask,
                                                                 is_causal=kind == "causal", scale=0.3)
            loss = (h + x).square().mean()
            loss.backward()
            with torch.no_grad():
                for p in (x, y):
                    p -= p.grad
                    p.grad = None
            losses.append(loss.item())
        return losses, x.tolist(), y.tolist()
    before = stats.counters.handed_on
    for found, expected in zip(trained(library("jtorch")), trained(torch), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-6)
    assert ENGINE_MODE == "eager" or stats.counters.handed_on > before


@pytest.mark.parametrize("kind", ["a mask with a gradient", "fixed keys", "many keys", "grouped"])
def test_attention_that_is_computed_again(torch, monkeypatch, kind):
    monkeypatch.setattr(pieces, "_ends", lambda path, outs: [len(path) // 3, len(path) // 2, len(path) - 1, len(path)])
    drawn = np.random.default_rng(0).normal(size=(2, 2, 20, 2)).astype(np.float32)

    def trained(torch):
        x = torch.tensor(drawn[:, :, :5], requires_grad=True)
        keys = torch.tensor(drawn if kind == "many keys" else drawn[:, :1, :5] if kind == "grouped" else drawn[:, :, :5])
        keys.requires_grad_(kind != "fixed keys")
        mask = torch.zeros(5, 5, requires_grad=True) if kind == "a mask with a gradient" else None
        losses = []
        for _ in range(30):
            h = torch.nn.functional.scaled_dot_product_attention(x * 0.9, keys * 1, keys.tanh(), attn_mask=mask,
                                                                 enable_gqa=kind == "grouped")
            loss = (h + x).square().mean()
            loss.backward()
            with torch.no_grad():
                x -= x.grad
            x.grad = None
            losses.append(loss.item())
        return losses, x.tolist(), *[t.grad.tolist() for t in (keys, mask) if t is not None and t.grad is not None]
    before = stats.counters.handed_on
    for found, expected in zip(trained(library("jtorch")), trained(torch), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-6)
    assert stats.counters.handed_on == before


def test_programs_are_taken_one_after_the_other():
    if ENGINE_MODE != "auto":
        pytest.skip("all are compiled at the first end, or nothing is")
    step, _ = training(jtorch)
    programs = []
    for _ in range(50):
        before = stats.counters.programs + stats.counters.equal_programs
        step()
        programs.append(stats.counters.programs + stats.counters.equal_programs - before)
    assert sum(programs) >= 8
    assert len([n for n in programs if n]) >= 4
    assert programs[-5:] == [0] * 5


def test_a_chain_of_small_calls_is_one_program(monkeypatch):
    """The starts of pieces would take longer than the calls."""
    if ENGINE_MODE != "auto":
        pytest.skip("all are compiled at the first end, or nothing is")
    monkeypatch.undo()
    monkeypatch.setattr(policy, "FOREGROUND", float("inf"))
    x, before = jtorch.ones(64), stats.counters.programs + stats.counters.equal_programs
    for _ in range(60):
        y = x
        for _ in range(50):
            y = jtorch.tanh(y * 1.01 + 0.1).abs()
        y.sum().item()
    assert stats.counters.programs + stats.counters.equal_programs - before == 1


def test_an_error_in_a_piece_loses_nothing():
    """A target is out of range in every turn while pieces are being compiled."""
    step, tensors = training(jtorch)
    wrong = jtorch.full((32,), 9)
    for turn in range(40):
        if turn % 2:
            with pytest.raises(IndexError, match="Target 9 is out of bounds"):
                step(wrong)
        assert all(np.isfinite(t.detach().numpy()).all() for t in tensors())
        assert np.isfinite(step())


@pytest.mark.slow
@pytest.mark.one_mode
def test_the_same_bits_whatever_is_on_disk(run_forked, tmp_path):
    code = """
import hashlib
import jtorch as torch
from jtorch.engine import policy, stats
policy.FOREGROUND, policy.SLACK, policy.SAVED, policy.MAX_CROSSING = 0.0, 0.01, 0.012, 1 << 40
policy.shortest_piece = lambda: 0.0
torch.manual_seed(0)
layers = [torch.nn.Sequential(torch.nn.Linear(24, 24), torch.nn.LayerNorm(24), torch.nn.GELU()) for _ in range(4)]
model = torch.nn.Sequential(*layers)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
x, y = torch.randn(16, 24), torch.randn(16, 24)
for turn in range(30):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    loss.item()
digest = hashlib.sha256()
for p in model.parameters():
    digest.update(p.detach().numpy().tobytes())
print(digest.hexdigest(), stats.counters.background > 3)
"""
    env = {"JTORCH_ENGINE": "auto", "JTORCH_CACHE": str(tmp_path / "cache")}
    first, second = run_forked(code, env), run_forked(code, env)
    assert first == second
    assert first.split()[1] == "True"


@pytest.mark.parametrize("layer, more", [(jtorch.nn.Conv1d(4, 4, 3), 1), (jtorch.nn.Linear(8, 8), 0)], ids=["convolution", "none"])
def test_an_optimizers_step_behind_convolutions_is_a_program_of_its_own(layer, more, monkeypatch):
    """XLA compiles its loops in another way without convolutions in the program."""
    if ENGINE_MODE != "auto":
        pytest.skip("all are compiled at the first end, or nothing is")
    monkeypatch.setattr(policy, "SAVED", float("inf"))
    monkeypatch.setattr(policy, "PIECE", 0.012)
    monkeypatch.setattr(policy, "SLACK", 0.0)
    optimizer = jtorch.optim.SGD(layer.parameters(), lr=1e-2, momentum=0.9)
    x, before = jtorch.randn(2, 4, 8), stats.counters.background
    for _ in range(30):
        optimizer.zero_grad()
        loss = layer(x).relu().square().mean()
        loss.backward()
        optimizer.step()
        loss.item()
    assert stats.counters.background - before == more + 1


def test_what_ran_on_the_host_is_not_traced_again(monkeypatch):
    """A program reuses JAX's trace of a kernel."""
    jtorch.engine.forget()
    call, traced = call_of(OPS["logit"], (T, None)), []
    body = call.fn
    monkeypatch.setattr(call, "fn", lambda x: traced.append(x) or body(x))
    x, before = jtorch.full((50, 50), 0.3), stats.counters.programs
    for _ in range(40):
        x.logit().mul(0.1).add(0.4).logit().mul(0.1).sum().item()
    assert ENGINE_MODE == "eager" or stats.counters.programs > before
    assert len(traced) == 1


def test_no_cut_goes_through_pieces_that_are_alike():
    """In a loop on a few numbers little data crosses any cut. Cuts there would make equal turns different."""
    kernels = [*"ab", *"xyz" * 3, *"cdef"]
    alike = [0, 2, 5, 8, 11, len(kernels)]
    assert pieces._outside_of_regions(alike, kernels, [0, 1, 2, 4, 5, 7, 10, 11, 13]) == [0, 1, 2, 5, 11, 13]
