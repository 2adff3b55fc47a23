"""torchdiffeq: solvers of ordinary differential equations, and training through them."""

import torch
from torchdiffeq import odeint, odeint_adjoint, odeint_event


class _Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


def solvers():
    a = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    t = torch.linspace(0, 2, 9)
    return [
        odeint(lambda t, y: y**3 @ a, torch.tensor([2.0, 0.0]), t, method=m)
        for m in ("dopri5", "dopri8", "bosh3", "euler", "midpoint", "rk4", "explicit_adams")
    ]


def training():
    field = _Field()
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = odeint(field, torch.ones(4, 2), torch.linspace(0, 1, 4)).abs().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, field.state_dict()


def adjoint():
    field = _Field()
    y = torch.ones(4, 2, requires_grad=True)
    odeint_adjoint(field, y, torch.linspace(0, 1, 4), method="rk4").pow(2).mean().backward()
    return y.grad, [p.grad for p in field.parameters()]


def events():
    return odeint_event(
        lambda t, y: torch.stack([y[1], torch.tensor(-9.8)]),
        torch.tensor([10.0, 0.0]),
        torch.tensor(0.0),
        event_fn=lambda t, y: y[0],
        atol=1e-8,
        rtol=1e-8,
    )
