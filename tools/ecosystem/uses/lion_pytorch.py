"""lion-pytorch: the Lion optimizer."""

import torch
from lion_pytorch import Lion
from lion_pytorch.cautious_lion import Lion as CautiousLion
from lion_pytorch.foreach import Lion as ForeachLion


def _trained(make, **options):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = make(model.parameters(), lr=1e-2, weight_decay=1e-2, **options)
    losses = []
    for _ in range(5):
        x = torch.randn(16, 4)
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.state_dict(), optimizer.state_dict()["state"]


def lion():
    return _trained(Lion)


def decoupled():
    return _trained(Lion, decoupled_weight_decay=True)


def foreach():
    return _trained(ForeachLion)


def cautious():
    return _trained(CautiousLion, cautious_factor=0.5)
