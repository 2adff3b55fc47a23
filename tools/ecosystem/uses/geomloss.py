"""geomloss: distances between clouds of points."""

import torch
from geomloss import SamplesLoss


def _value(loss, **options):
    x, y = torch.randn(30, 2, requires_grad=True), torch.randn(25, 2) + 1
    value = SamplesLoss(loss, backend="tensorized", **options)(x, y)
    value.backward()
    return value, x.grad


def sinkhorn():
    return _value("sinkhorn", p=2, blur=0.1), _value("sinkhorn", p=1, blur=0.2, reach=1.0)


def kernels():
    return _value("gaussian", blur=0.5), _value("laplacian", blur=0.5), _value("energy")


def batches():
    x, y = torch.randn(3, 10, 2), torch.randn(3, 12, 2)
    return SamplesLoss("sinkhorn", backend="tensorized", debias=False)(x, y)


def potentials():
    x, y = torch.randn(10, 2), torch.randn(12, 2)
    return SamplesLoss("sinkhorn", backend="tensorized", potentials=True)(x, y)
