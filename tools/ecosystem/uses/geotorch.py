"""geotorch: parameters on manifolds."""

import geotorch
import torch
from torch import nn


def _trained(layer, steps=4):
    x, y = torch.randn(8, 6), torch.randn(8, layer.weight.shape[0])
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (layer(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, layer.weight.detach()


def orthogonal():
    layer = nn.Linear(6, 6)
    geotorch.orthogonal(layer, "weight")
    layer.weight = torch.eye(6)
    losses, weight = _trained(layer)
    return losses, weight, weight.T @ weight


def low_rank():
    layer = nn.Linear(6, 4)
    geotorch.low_rank(layer, "weight", rank=2)
    layer.weight = torch.randn(4, 2) @ torch.randn(2, 6)
    losses, weight = _trained(layer)
    return losses, torch.linalg.matrix_rank(weight)


def definite():
    layer = nn.Linear(6, 6)
    geotorch.positive_definite(layer, "weight")
    layer.weight = torch.eye(6) * 2
    losses, weight = _trained(layer)
    return losses, torch.linalg.eigvalsh(weight)


def others():
    found = []
    for made in (geotorch.symmetric, geotorch.skew):
        layer = nn.Linear(6, 6)
        made(layer, "weight")
        found.append(_trained(layer))
    return found
