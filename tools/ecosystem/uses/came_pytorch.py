"""came-pytorch: the CAME optimizer."""

import torch
from came_pytorch import CAME


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


def came():
    return _trained(lambda p: CAME(p, lr=1e-2, weight_decay=1e-2))


def other_rates():
    return _trained(lambda p: CAME(p, lr=1e-2, betas=(0.8, 0.99, 0.999), clip_threshold=0.5))
