"""LBFGS with strong_wolfe: the line search uses the parameters' dtype, and ends once nothing changes."""
from __future__ import annotations

import pytest


def rosenbrock(xp, dtype):
    p = xp.nn.Parameter(xp.tensor([-1.2, 1.0], dtype=getattr(xp, dtype)))
    optimizer = xp.optim.LBFGS([p], max_iter=10, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
        loss.backward()
        return loss
    losses = [optimizer.step(closure).item() for _ in range(5)]
    return losses, p.detach(), optimizer.state[p]["n_iter"], optimizer.state[p]["func_evals"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rosenbrocks_valley(same, dtype):
    same(lambda xp: rosenbrock(xp, dtype), rtol=1e-2)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_without_a_tolerance_it_still_ends(xp, scale):
    """The differences of losses vanish in rounding. There is no NaN, no division by zero, and no better point is lost."""
    p = xp.nn.Parameter(xp.tensor([1.0, 2.0]))
    optimizer = xp.optim.LBFGS([p], max_iter=200, tolerance_grad=0, tolerance_change=0, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (((p - 3) ** 4).sum() + 100) * scale
        loss.backward()
        return loss
    losses = [optimizer.step(closure).item() for _ in range(4)]
    assert losses[-1] <= losses[0] and p.isfinite().all() and (p - 3).abs().max() < 1
