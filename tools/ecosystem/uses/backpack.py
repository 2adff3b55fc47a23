"""backpack-for-pytorch: more than the gradient from one backward."""

import torch
from backpack import backpack, extend, extensions


def _parts():
    torch.manual_seed(0)
    model = extend(torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)))
    return model, extend(torch.nn.CrossEntropyLoss())(model(torch.randn(6, 4)), torch.tensor([0, 1, 2, 0, 1, 2]))


def first_order():
    model, loss = _parts()
    with backpack(extensions.BatchGrad(), extensions.Variance(), extensions.SumGradSquared(), extensions.BatchL2Grad()):
        loss.backward()
    return [(p.grad, p.grad_batch, p.variance, p.sum_grad_squared, p.batch_l2) for p in model.parameters()]


def second_order():
    model, loss = _parts()
    with backpack(extensions.DiagGGNExact(), extensions.KFLR(), extensions.DiagHessian()):
        loss.backward()
    return [(p.diag_ggn_exact, p.kflr, p.diag_h) for p in model.parameters()]
