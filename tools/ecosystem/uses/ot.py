"""POT: optimal transport of tensors."""

import ot
import torch


def _clouds():
    x, y = torch.randn(12, 2, requires_grad=True), torch.randn(10, 2) + 1
    return x, y, torch.full((12,), 1 / 12), torch.full((10,), 0.1)


def exact():
    x, y, a, b = _clouds()
    cost = ot.dist(x, y)
    value = ot.emd2(a, b, cost)
    value.backward()
    return value, x.grad, ot.emd(a, b, cost.detach())


def regularized():
    x, y, a, b = _clouds()
    cost = ot.dist(x, y)
    plan = ot.sinkhorn(a, b, cost, 0.5)
    value = (plan * cost).sum()
    value.backward()
    return plan, x.grad, ot.sinkhorn(a, b, cost.detach(), 0.5, method="sinkhorn_log")


def sliced():
    x, y, a, b = _clouds()
    value = ot.sliced_wasserstein_distance(x, y, a, b, n_projections=20, seed=1)
    value.backward()
    return value, x.grad


def barycenters():
    a = torch.rand(3, 10)
    a = (a / a.sum(1, keepdim=True)).T
    cost = ot.dist(torch.arange(10.0)[:, None], torch.arange(10.0)[:, None])
    return ot.bregman.barycenter(a, cost / cost.max(), 0.05), ot.unbalanced.sinkhorn_unbalanced(
        a[:, 0], a[:, 1], cost / 81, 0.1, 1.0
    )


def gromov():
    x, y, a, b = _clouds()
    with torch.no_grad():
        return ot.gromov.gromov_wasserstein2(ot.dist(x, x), ot.dist(y, y), a, b)
