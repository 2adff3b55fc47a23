"""Elementwise steps on large arrays run block by block on the host."""
from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import jtorch as torch
from jtorch._base.config import ENGINE_MODE
from jtorch.engine import policy, stats

pytestmark = pytest.mark.skipif(ENGINE_MODE == "hot", reason="nothing runs on the host")
N = policy.SHARED + 3 * policy.CACHED + 17


@pytest.fixture(autouse=True)
def fresh():
    torch.engine.forget()
    yield
    torch.engine.forget()


def adam_step(p, grad):
    p = torch.nn.Parameter(p.clone())
    optimizer = torch.optim.Adam([p], lr=0.1, weight_decay=0.01)
    for _ in range(2):
        p.grad = grad
        optimizer.step()
    return [p.detach(), *[x for x in optimizer.state[p].values() if x.dim()]]


def backward_of_gelu(x, grad):
    x = x.clone().requires_grad_()
    y = torch.nn.functional.gelu(x, approximate="tanh")
    y.backward(grad)
    return [y.detach(), x.grad]


def choices(x, grad):
    return [torch.where(x > 0, (x * grad).abs().sqrt(), x.sigmoid()).clamp(-1, 0.5), torch.nn.functional.hardswish(x)]


@pytest.mark.parametrize("step", [adam_step, backward_of_gelu, choices])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_large_arrays_give_what_their_parts_give(step, dtype):
    x, grad = torch.randn(N).to(dtype), torch.randn(N).to(dtype)
    before = stats.counters.in_blocks + stats.counters.fused
    whole = step(x, grad)
    assert stats.counters.in_blocks + stats.counters.fused > before
    parts = [step(a, b) for a, b in zip(x.split(100_000), grad.split(100_000), strict=True)]
    for got, expected in zip(whole, map(torch.cat, zip(*parts, strict=True)), strict=True):
        assert torch.equal(got, expected)


@pytest.mark.parametrize("given", ["one number", "transposed", "every second"])
def test_arrays_that_are_not_in_order(given):
    grad = {"one number": lambda: torch.ones(512, 1024), "transposed": lambda: torch.randn(1024, 512).t(),
            "every second": lambda: torch.randn(512, 2048)[:, ::2]}[given]()
    x = torch.randn(512, 1024)
    for got, expected in zip(adam_step(x, grad), adam_step(x.double(), grad.double()), strict=True):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-4, atol=1e-6)


def test_a_step_makes_no_arrays_on_the_way():
    """Adam has eight steps, and keeps three of their results."""
    p, grad = torch.randn(1 << 20), torch.randn(1 << 20)
    p = torch.nn.Parameter(p)
    optimizer = torch.optim.Adam([p], lr=0.1)
    p.grad = grad
    optimizer.step()
    p.sum().item()
    tracemalloc.start()
    optimizer.step()
    p.sum().item()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ENGINE_MODE != "auto" or peak < 4.5 * p.nbytes
