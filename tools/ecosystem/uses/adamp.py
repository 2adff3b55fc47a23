"""adamp: Adam and SGD that project the update."""

import torch
from adamp import SGDP, AdamP


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


def adamp():
    return _trained(lambda p: AdamP(p, lr=1e-2, weight_decay=1e-2))


def sgdp():
    return _trained(lambda p: SGDP(p, lr=1e-2, momentum=0.9, nesterov=True))
