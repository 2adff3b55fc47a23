"""Warnings show the line of the user's program, from anywhere in the package."""
from __future__ import annotations

import inspect
import logging
import warnings

import pytest

import jtorch as torch
from jtorch.nn import functional as F

CASES = {
    "number of a tensor with a gradient": lambda: float(torch.ones(1, requires_grad=True)),
    "in the body of an op": lambda: F.softmax(torch.ones(3, 5)),
    "in a module": lambda: torch.nn.MSELoss()(torch.ones(3, 2), torch.ones(3, 1)),
    "variance of one element": lambda: torch.ones(1).std(),
    "in a view": lambda: torch.ones(2, 3, 4).T,
    "in a constructor": lambda: torch.nn.LSTM(2, 2, dropout=0.1),
    "out= of another shape": lambda: torch.add(torch.ones(4), 1, out=torch.ones(1)),
    "graph of a backward": lambda: torch.ones(1, requires_grad=True).sum().backward(create_graph=True),
    "deprecated argument": lambda: F.cross_entropy(torch.ones(2, 3), torch.zeros(2, dtype=torch.int64), size_average=True),
}


@pytest.mark.parametrize("name", CASES)
def test_a_warning_shows_the_users_line(name, monkeypatch):
    monkeypatch.setattr("jtorch._base.warned.Once.given", set())
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        CASES[name]()
    assert [(w.filename, w.lineno) for w in found] == [(__file__, inspect.getsourcelines(CASES[name])[1])]


def test_notes_of_jax_stay_out_of_a_log_at_info(caplog):
    with caplog.at_level(logging.INFO):
        for say in (logging.getLogger("jax._src.xla_bridge").info, logging.getLogger("jax._src.xla_bridge").warning):
            say("of JAX")
    assert [r.levelname for r in caplog.records] == ["WARNING"]
