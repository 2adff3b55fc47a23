"""torchjd: descent by several losses, with the Jacobian of all."""

import torch
from torchjd.aggregation import MGDA, PCGrad, UPGrad
from torchjd.autojac import backward, jac_to_grad, mtl_backward


def _model():
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))


def losses_of_one_model():
    model = _model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(12, 5), torch.randn(12, 2)
    seen = []
    for _ in range(3):
        losses = (model(x) - y).square().mean(0)
        backward(losses)
        jac_to_grad(model.parameters(), UPGrad())
        optimizer.step()
        optimizer.zero_grad()
        seen.append(losses.detach())
    return seen, list(model.parameters())


def several_tasks():
    shared = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh())
    heads = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
    x, y = torch.randn(12, 5), torch.randn(2, 12, 1)
    features = shared(x)
    mtl_backward([(head(features) - t).square().mean() for head, t in zip(heads, y, strict=True)], features=features)
    jac_to_grad(shared.parameters(), UPGrad())
    return [p.grad for m in (shared, *heads) for p in m.parameters()]


def aggregators():
    jacobian = torch.tensor([[-4.0, 1.0, 1.0], [6.0, 1.0, 1.0]])
    return [aggregator(jacobian) for aggregator in (UPGrad(), MGDA(), PCGrad())]
