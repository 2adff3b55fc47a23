"""torchopt: optimizers as functions, and gradients through them."""

import torch
import torchopt
from torch import nn


def functional():
    x, y, w = torch.randn(8, 4), torch.randn(8, 1), torch.randn(4, 1, requires_grad=True)
    optimizer = torchopt.adam(lr=0.1)
    params = (w,)
    state = optimizer.init(params)
    losses = []
    for _ in range(4):
        loss = (x @ params[0] - y).pow(2).mean()
        grads = torch.autograd.grad(loss, params)
        updates, state = optimizer.update(grads, state, inplace=False)
        params = torchopt.apply_updates(params, updates, inplace=False)
        losses.append(loss.item())
    return losses


def meta():
    net, x, y = nn.Linear(4, 1), torch.randn(8, 4), torch.randn(8, 1)
    scale = torch.ones((), requires_grad=True)
    optimizer = torchopt.MetaSGD(net, lr=0.1, momentum=0.9)
    for _ in range(2):
        optimizer.step((net(x) * scale - y).pow(2).mean())
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    return loss, scale.grad


def objects():
    net, x, y = nn.Linear(4, 1), torch.randn(8, 4), torch.randn(8, 1)
    optimizer = torchopt.AdamW(net.parameters(), lr=0.1)
    losses = []
    for _ in range(4):
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def implicit():
    from torchopt import linear_solve
    a = torch.randn(4, 4, dtype=torch.float64)
    a = a @ a.T + 4 * torch.eye(4, dtype=torch.float64)
    solver = linear_solve.solve_cg()
    return solver(lambda v: a @ v, torch.ones(4, dtype=torch.float64))
