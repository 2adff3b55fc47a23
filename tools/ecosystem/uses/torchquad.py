"""torchquad: integrals in several dimensions."""

import torch
import torchquad
from torchquad import Boole, GaussLegendre, MonteCarlo, Simpson, Trapezoid


def _f(x):
    return torch.sin(x[:, 0]) + torch.exp(x[:, 1])


def grids():
    domain = [[0.0, 1.0], [-1.0, 1.0]]
    return [
        rule().integrate(_f, dim=2, N=n, integration_domain=domain, backend="torch")
        for rule, n in ((Trapezoid, 400), (Simpson, 441), (Boole, 625), (GaussLegendre, 64))
    ]


def gradients():
    domain = torch.tensor([[0.0, 1.0], [-1.0, 1.0]], requires_grad=True)
    found = Simpson().integrate(_f, dim=2, N=441, integration_domain=domain)
    found.backward()
    return found, domain.grad, torchquad.__name__


def random_points():
    return MonteCarlo().integrate(_f, dim=2, N=500, integration_domain=[[0.0, 1.0], [-1.0, 1.0]], seed=3, backend="torch")
