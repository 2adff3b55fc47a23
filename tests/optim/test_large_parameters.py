"""Several calls update parameters of many bytes, so that not all new values exist before the first old value is freed."""
from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import jtorch as torch
from jtorch import engine
from jtorch._base.config import ENGINE_MODE
from jtorch._optimizers import multi_tensor
from jtorch.engine import policy


def _model(count=8, size=512):
    torch.manual_seed(0)
    return [torch.nn.Parameter(torch.randn(size, size)) for _ in range(count)]


def _step(params, optimizer):
    for p in params:
        p.grad = torch.full_like(p, 0.5)
    optimizer.step()
    return params[0][0, 0].item()


@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.AdamW(p, lr=0.1)],
                         ids=["SGD", "AdamW"])
def test_the_same_numbers_as_in_one_call(make, monkeypatch):
    def trained(together):
        monkeypatch.setattr(policy, "MUCH", together)
        engine.forget()
        params = _model(size=16)
        optimizer = make(params)
        for turn in range(24):
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + turn)
            _step(params, optimizer)
        return [t.detach().numpy().copy() for p in params for t in (p, *optimizer.state[p].values()) if isinstance(t, torch.Tensor)]
    whole, parts = trained(1 << 40), trained(3 << 10)
    engine.forget()
    for a, b in zip(parts, whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_stretches_are_of_so_many_bytes_or_of_one_parameter():
    def sizes(*numbers):
        avals = tuple([torch.empty(n)._storage.aval for n in numbers])
        return [sum(numbers[a:b]) for a, b in multi_tensor._of_at_most(40, avals)]
    assert sizes(4, 4, 4, 4) == [8, 8]
    assert sizes(100, 1, 1, 100, 3) == [100, 2, 100, 3]
    assert sizes(1) == [1]


@pytest.mark.skipif(ENGINE_MODE == "hot", reason="a program writes over what it is given")
def test_what_a_step_takes_beside_parameters_and_states(monkeypatch):
    monkeypatch.setattr(policy, "MUCH", 2 << 20)
    engine.forget()
    params = _model()       # Each parameter has 1 MiB.
    optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9)
    for _ in range(2):
        _step(params, optimizer)
    tracemalloc.start()
    try:
        for _ in range(2):
            _step(params, optimizer)        # From the second step on, the first step's results exist already.
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        optimizer.step()
        assert params[0][0, 0].item() != 0
        assert tracemalloc.get_traced_memory()[1] - before < 9 << 20  # One call would take 16 MiB for new values alone.
    finally:
        tracemalloc.stop()
        engine.forget()
