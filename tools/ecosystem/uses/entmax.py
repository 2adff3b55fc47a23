"""entmax: sparse alternatives to softmax, and their losses."""

import entmax
import torch


def mappings():
    x = torch.randn(3, 6, requires_grad=True)
    out = [
        entmax.sparsemax(x, dim=1),
        entmax.entmax15(x, dim=1),
        entmax.entmax_bisect(x, alpha=1.3),
        entmax.sparsemax_bisect(x),
    ]
    sum((o * torch.arange(6.0)).sum() for o in out).backward()
    return out, x.grad


def losses():
    x, y = torch.randn(4, 6, requires_grad=True), torch.tensor([0, 2, 5, 1])
    values = [loss(x, y) for loss in (entmax.SparsemaxLoss(), entmax.Entmax15Loss(), entmax.EntmaxBisectLoss(1.5))]
    sum(values).backward()
    return values, x.grad


def learned_alpha():
    alpha = torch.tensor(1.5, requires_grad=True)
    entmax.entmax_bisect(torch.tensor([1.0, 0.5, 0.2]), alpha).square().sum().backward()
    return alpha.grad
