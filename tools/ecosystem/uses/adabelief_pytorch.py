"""adabelief-pytorch: the AdaBelief optimizer."""

import torch
from adabelief_pytorch import AdaBelief


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


def adabelief():
    return _trained(lambda p: AdaBelief(p, lr=1e-2, eps=1e-16, rectify=False, print_change_log=False))


def rectified():
    return _trained(lambda p: AdaBelief(p, lr=1e-2, rectify=True, print_change_log=False))


def amsgrad():
    return _trained(lambda p: AdaBelief(p, lr=1e-2, amsgrad=True, weight_decouple=False, print_change_log=False))
