"""dadaptation: optimizers that find their learning rates."""

import torch
from dadaptation import DAdaptAdam, DAdaptAdan, DAdaptSGD


def _trained(make, steps=6):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = make(model.parameters())
    losses = []
    for _ in range(steps):
        x = torch.randn(16, 4)
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.state_dict()


def adam():
    return _trained(lambda p: DAdaptAdam(p, lr=1.0, decouple=True, weight_decay=0.01))


def sgd():
    return _trained(lambda p: DAdaptSGD(p, lr=1.0, momentum=0.9))


def adan():
    return _trained(lambda p: DAdaptAdan(p, lr=1.0))
