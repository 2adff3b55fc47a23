"""e3nn: spherical harmonics and equivariant layers."""

import torch
from e3nn import nn, o3


def harmonics():
    x = torch.randn(5, 3)
    return o3.spherical_harmonics("0e + 1o + 2e", x, normalize=True), o3.wigner_3j(1, 1, 2), o3.rand_matrix().shape


def tensor_products():
    first, second = o3.Irreps("4x0e + 2x1o"), o3.Irreps("1x0e + 1x1o")
    product = o3.FullyConnectedTensorProduct(first, second, "3x0e + 2x1o")
    x = torch.randn(4, first.dim, requires_grad=True)
    out = product(x, torch.randn(4, second.dim))
    out.sum().backward()
    return out, x.grad


def layers():
    irreps = o3.Irreps("4x0e + 2x1o")
    linear, gate = o3.Linear(irreps, "6x0e + 2x1o"), nn.Gate("4x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
    return gate(linear(torch.randn(3, irreps.dim))), nn.BatchNorm(irreps)(torch.randn(6, irreps.dim))
