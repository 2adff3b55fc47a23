"""flow-matching: paths between distributions, and their solvers."""

import torch
from flow_matching.path import AffineProbPath, MixtureDiscreteProbPath
from flow_matching.path.scheduler import CondOTScheduler, PolynomialConvexScheduler
from flow_matching.solver import ODESolver
from flow_matching.utils import ModelWrapper


class _Velocity(ModelWrapper):
    def __init__(self):
        super().__init__(torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.SiLU(), torch.nn.Linear(16, 2)))

    def forward(self, x, t, **extras):
        t = t.reshape(-1, 1).expand(len(x), 1)
        return self.model(torch.cat([x, t], 1))


def continuous():
    path, model = AffineProbPath(scheduler=CondOTScheduler()), _Velocity()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        sample = path.sample(t=torch.rand(16), x_0=torch.randn(16, 2), x_1=torch.rand(16, 2))
        loss = (model(sample.x_t, sample.t) - sample.dx_t).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    solver = ODESolver(velocity_model=model)
    made = solver.sample(time_grid=torch.linspace(0, 1, 3), x_init=torch.randn(4, 2), method="midpoint", step_size=0.1)
    return losses, made


def discrete():
    path = MixtureDiscreteProbPath(scheduler=PolynomialConvexScheduler(n=2.0))
    sample = path.sample(t=torch.rand(4), x_0=torch.zeros(4, 6).long(), x_1=torch.randint(0, 5, (4, 6)))
    velocity = path.posterior_to_velocity(torch.randn(4, 6, 5), sample.x_t, sample.t)
    return sample.x_t, velocity
