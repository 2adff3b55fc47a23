"""torchsde: stochastic differential equations and their adjoint."""

import torch
import torchsde


class _SDE(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.mu, self.sigma = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def f(self, t, y):
        return self.mu(y)

    def g(self, t, y):
        return self.sigma(y).sigmoid() * 0.1


def solve():
    sde = _SDE()
    y = torch.full((4, 3), 0.1)
    return [
        torchsde.sdeint(
            sde,
            y,
            torch.linspace(0, 1, 5),
            dt=0.1,
            method=m,
            bm=torchsde.BrownianInterval(0.0, 1.0, (4, 3), entropy=1, levy_area_approximation="space-time"),
        )
        for m in ("euler", "milstein", "srk")
    ]


def adjoint():
    sde = _SDE()
    y = torch.full((4, 3), 0.1, requires_grad=True)
    bm = torchsde.BrownianInterval(0.0, 1.0, (4, 3), entropy=1, levy_area_approximation="space-time")
    torchsde.sdeint_adjoint(sde, y, torch.linspace(0, 1, 3), dt=0.2, bm=bm).square().mean().backward()
    return y.grad, [p.grad for p in sde.parameters()]
