"""geoopt: manifolds and optimizers on them."""

import geoopt
import torch


def stiefel():
    torch.manual_seed(0)
    weight = geoopt.ManifoldParameter(geoopt.Stiefel().projx(torch.randn(5, 3)), manifold=geoopt.Stiefel())
    optimizer = geoopt.optim.RiemannianAdam([weight], lr=1e-2)
    target = torch.randn(5, 3)
    for _ in range(4):
        optimizer.zero_grad()
        (weight - target).square().sum().backward()
        optimizer.step()
    return weight, weight.T @ weight


def hyperbolic():
    ball = geoopt.PoincareBall(c=1.0)
    x, y = ball.expmap0(torch.randn(3, 2) * 0.3), ball.expmap0(torch.randn(3, 2) * 0.3)
    return ball.dist(x, y), ball.mobius_add(x, y), ball.logmap(x, y), ball.geodesic(torch.tensor(0.5), x, y)


def sphere():
    weight = geoopt.ManifoldParameter(torch.tensor([1.0, 0, 0]), manifold=geoopt.Sphere())
    optimizer = geoopt.optim.RiemannianSGD([weight], lr=0.1, momentum=0.9)
    for _ in range(4):
        optimizer.zero_grad()
        (weight * torch.tensor([1.0, 2, 3])).sum().backward()
        optimizer.step()
    return weight
