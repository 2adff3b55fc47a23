"""prodigyopt: an optimizer that finds its learning rate."""

import torch
from prodigyopt import Prodigy


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


def prodigy():
    return _trained(lambda p: Prodigy(p, lr=1.0, weight_decay=0.01))


def warmed_up():
    return _trained(lambda p: Prodigy(p, safeguard_warmup=True, use_bias_correction=True))


def in_slices():
    return _trained(lambda p: Prodigy(p, slice_p=3, decouple=False))
