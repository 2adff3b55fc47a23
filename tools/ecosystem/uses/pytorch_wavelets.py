"""pytorch-wavelets: wavelet transforms as layers."""

import torch
from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWTForward, DWTInverse, ScatLayer


def discrete():
    x = torch.randn(2, 3, 16, 16, requires_grad=True)
    low, high = DWTForward(J=2, wave="db3", mode="zero")(x)
    back = DWTInverse(wave="db3", mode="zero")((low, high))
    back.pow(2).sum().backward()
    return low, high, back, x.grad


def dual_tree():
    x = torch.randn(1, 2, 16, 16)
    low, high = DTCWTForward(J=2, biort="near_sym_b", qshift="qshift_b")(x)
    return low, high, DTCWTInverse(biort="near_sym_b", qshift="qshift_b")((low, high))


def scattering():
    return ScatLayer()(torch.randn(1, 3, 16, 16))
