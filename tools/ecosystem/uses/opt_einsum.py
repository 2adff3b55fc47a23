"""opt_einsum: contractions in a good order."""

import opt_einsum as oe
import torch


def contract():
    a, b, c = torch.randn(4, 5), torch.randn(5, 6, 3), torch.randn(6, 4, requires_grad=True)
    y = oe.contract("ij,jkl,ki->l", a, b, c)
    y.sum().backward()
    return y, c.grad


def expressions():
    a, b = torch.randn(4, 5), torch.randn(5, 6)
    expression = oe.contract_expression("ij,jk,kl->il", a, (5, 6), (6, 2), constants=[0])
    path, info = oe.contract_path("ij,jk,kl->il", a, b, torch.randn(6, 2))
    return expression(b, torch.ones(6, 2)), [list(p) for p in path], int(info.opt_cost)
