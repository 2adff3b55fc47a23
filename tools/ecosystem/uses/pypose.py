"""pypose: Lie groups, and their optimization, for robots."""

import pypose as pp
import torch


def groups():
    x = pp.so3(torch.randn(4, 3)).requires_grad_()
    r = x.Exp()
    p = r.Act(torch.ones(3))
    p.square().sum().add(r.matrix().sum()).backward()
    t = pp.randn_SE3(2)
    chain = t @ t.Inv() @ pp.se3(0.1 * torch.ones(2, 6)).Exp()
    return r.tensor(), p, x.grad, chain.Log().tensor(), t.rotation().euler(), t.Adj(pp.se3(torch.ones(2, 6))).tensor()


class _Inverse(torch.nn.Module):
    def __init__(self, *size):
        super().__init__()
        self.pose = pp.Parameter(pp.se3(0.3 * torch.randn(*size, 6)).Exp())

    def forward(self, poses):
        return (self.pose @ poses).Log().tensor()


def least_squares():
    poses = pp.se3(0.3 * torch.randn(2, 6)).Exp()
    model = _Inverse(2)
    optimizer = pp.optim.LM(model, strategy=pp.optim.strategy.Adaptive(damping=1e-4))
    errors = [optimizer.step(poses).item() for _ in range(4)]
    return errors[:2], [e < 1e-6 for e in errors[2:]], (model.pose @ poses).Log().tensor()


def filters_and_splines():
    points = torch.randn(2, 6, 3)
    spline = pp.chspline(points, 0.25)
    integrator = pp.module.IMUPreintegrator(torch.zeros(3), pp.identity_SO3(), torch.zeros(3))
    state = integrator(dt=torch.full((1, 3, 1), 0.1), gyro=torch.randn(1, 3, 3), acc=torch.randn(1, 3, 3))
    return spline, state["pos"], state["vel"], state["rot"].tensor()
