"""pytorch-minimize: SciPy's minimizers with gradients of PyTorch."""

import torch
from torchmin import Minimizer, least_squares, minimize, minimize_constr


def _rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def unconstrained():
    start = torch.tensor([1.3, 0.7, 0.8], dtype=torch.float64)
    return [(name, (r := minimize(_rosenbrock, start, method=name)).x, r.fun, bool(r.success))
            for name in ("bfgs", "l-bfgs", "cg", "newton-cg", "newton-exact", "trust-ncg", "trust-exact")]


def constrained():
    start = torch.tensor([0.5, 0.2], dtype=torch.float64)
    result = minimize_constr(_rosenbrock, start, constr={"fun": lambda x: x.square().sum(), "ub": 1.0}, max_iter=50)
    return result.x, result.fun


def squares():
    t = torch.linspace(0, 1, 10, dtype=torch.float64)
    y = 2 * torch.exp(-1.5 * t)
    result = least_squares(lambda p: p[0] * torch.exp(p[1] * t) - y, torch.tensor([1., 0.], dtype=torch.float64))
    return result.x, result.cost


def optimizer():
    net, x, y = torch.nn.Linear(4, 1).double(), torch.randn(10, 4).double(), torch.randn(10, 1).double()
    opt = Minimizer(net.parameters(), method="bfgs", max_iter=20)

    def closure():
        opt.zero_grad()
        return (net(x) - y).pow(2).mean()
    return opt.step(closure), net.weight.detach()
