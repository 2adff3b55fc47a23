"""torch-dct: cosine transforms."""

import torch
import torch_dct


def one_dim():
    x = torch.randn(3, 16, requires_grad=True)
    y = torch_dct.dct(x, norm="ortho")
    y.pow(3).sum().backward()
    return y, x.grad, torch_dct.idct(y, norm="ortho"), torch_dct.dct1(x.detach()), torch_dct.idct1(x.detach())


def more_dims():
    x = torch.randn(2, 4, 6, 8)
    return torch_dct.dct_2d(x), torch_dct.idct_2d(torch_dct.dct_2d(x)), torch_dct.dct_3d(x, norm="ortho")


def layer():
    linear = torch_dct.LinearDCT(8, "dct", norm="ortho")
    return linear(torch.randn(3, 8)), torch_dct.apply_linear_2d(torch.randn(2, 8, 8), linear)
