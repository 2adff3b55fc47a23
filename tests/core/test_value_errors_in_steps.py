"""After an error about a value no part of a training step has happened, in each mode of the engine."""
from __future__ import annotations

import pytest

STEPS, BAD = 14, 11


def embedded(xp, p, bad):
    return xp.nn.functional.embedding(xp.tensor([[0, 1], [2, 77 if bad else 3]])[:, 1:], p)


def classified(xp, p, bad):
    return xp.nn.functional.cross_entropy(p, xp.full((6,), 77 if bad else 3))


def classified_by_floats(xp, p, bad):
    return xp.nn.functional.cross_entropy(p.tanh(), xp.full((6,), 77.0 if bad else 3.0).long())


def classified_by_drawn(xp, p, bad):
    return xp.nn.functional.cross_entropy(p, xp.randint(70 if bad else 0, 77 if bad else 4, (6,)))


def gathered(xp, p, bad):
    return p.gather(1, xp.tensor([[9 if bad else 1]]))


def selected(xp, p, bad):
    return p.index_select(0, xp.tensor([9 if bad else 1]))


def indexed(xp, p, bad):
    return p[xp.arange(2) + (9 if bad else 1)]


def scattered(xp, p, bad):
    return p.scatter(1, xp.tensor([[9 if bad else 1]]), 0.5)


def factored(xp, p, bad):
    return xp.linalg.cholesky(p.T @ p + (-100 if bad else 1) * xp.eye(4))


def solved(xp, p, bad):
    return xp.linalg.solve((p.T @ p + xp.eye(4)) * (0.0 if bad else 1.0), xp.ones(4))


@pytest.mark.parametrize("of", [embedded, classified, classified_by_floats, classified_by_drawn, gathered, selected, indexed,
                                scattered, factored, solved])
def test_nothing_of_a_step_is_made_after_an_error(xp, of):
    xp.manual_seed(0)
    p = xp.nn.Parameter(xp.randn(6, 4))
    optimizer = xp.optim.Adam([p], lr=0.01)
    raised = []
    for i in range(STEPS):
        before = p.detach().clone()
        try:
            optimizer.zero_grad()
            loss = of(xp, p, i == BAD).square().sum()
            loss.backward()
            optimizer.step()
            loss.item()
        except (IndexError, RuntimeError):
            assert p.grad is None
            assert xp.equal(before, p)
            raised.append((i, int(optimizer.state[p]["step"])))
    assert raised == [(BAD, BAD)]
    assert int(optimizer.state[p]["step"]) == STEPS - 1


HOT = """
import sys
sys.path.insert(0, "tests/core")
import jtorch
import test_value_errors_in_steps as tests
for of in (tests.embedded, tests.classified, tests.factored):
    tests.test_nothing_of_a_step_is_made_after_an_error(jtorch, of)
print("done")
"""


@pytest.mark.one_mode
@pytest.mark.parametrize("speedups", ["1", "0"])
def test_nor_where_all_calls_are_held_back(run_forked, speedups):
    assert run_forked(HOT, {"JTORCH_ENGINE": "hot", "JTORCH_SPEEDUPS": speedups}) == "done\n"
