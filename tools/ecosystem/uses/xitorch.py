"""xitorch: linear algebra, roots and integrals with gradients."""

import torch
import xitorch
from xitorch.integrate import quad, solve_ivp
from xitorch.interpolate import Interp1D
from xitorch.linalg import lsymeig, solve, svd
from xitorch.optimize import equilibrium, minimize, rootfinder


def roots():
    a = torch.tensor([[0.5, 0.1], [0.2, 0.4]], dtype=torch.float64, requires_grad=True)
    y = rootfinder(lambda y, a: torch.tanh(a @ y + 0.3) + y / 2.0, torch.zeros(2, 1, dtype=torch.float64), params=(a,))
    y.sum().backward()
    z = equilibrium(lambda y, a: torch.tanh(a @ y + 0.3) - y / 2, torch.zeros(2, 1, dtype=torch.float64), params=(a.detach(),))
    return y, a.grad, z


def minima():
    a = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    y = minimize(lambda y, a: (y - a).pow(2).sum() + (y ** 4).sum() * 0.1, torch.zeros(3, dtype=torch.float64), params=(a,))
    y.sum().backward()
    return y, a.grad


def linear():
    m = torch.randn(5, 5, dtype=torch.float64)
    m = (m @ m.T + 5 * torch.eye(5, dtype=torch.float64)).requires_grad_()
    op = xitorch.LinearOperator.m(m, is_hermitian=True)
    x = solve(op, torch.randn(5, 2, dtype=torch.float64), method="cg")
    values, vectors = lsymeig(op, neig=2)
    (x.sum() + values.sum()).backward()
    return x, values, vectors.abs(), m.grad, svd(op, k=2)[1]


def integrals():
    a = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    low, high = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (0.0, 1.0))
    area = quad(lambda x, a: torch.exp(-a * x * x), low, high, params=(a,))
    area.backward()
    times = torch.linspace(0, 1, 6, dtype=torch.float64)
    y = solve_ivp(lambda t, y, a: -a * y, times, torch.ones(1, dtype=torch.float64), params=(a.detach(),))
    return area, a.grad, high.grad, y


def interpolation():
    x = torch.linspace(0, 1, 8, dtype=torch.float64)
    return [Interp1D(x, torch.sin(4 * x), method=name)(torch.rand(5, dtype=torch.float64)) for name in ("cspline", "linear")]
