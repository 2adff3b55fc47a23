"""torchkbnufft: Fourier transforms of points that are on no grid."""

import torch
import torchkbnufft as tkbn


def forward():
    points = (torch.rand(2, 40) - 0.5) * 2 * torch.pi
    op = tkbn.KbNufft(im_size=(16, 16))
    return op(torch.randn(1, 1, 16, 16, dtype=torch.complex64), points)


def adjoint():
    points = (torch.rand(2, 40) - 0.5) * 2 * torch.pi
    op = tkbn.KbNufftAdjoint(im_size=(16, 16))
    return op(torch.randn(1, 1, 40, dtype=torch.complex64), points)


def coils():
    points = (torch.rand(2, 30) - 0.5) * 2 * torch.pi
    op, smaps = tkbn.KbNufft(im_size=(8, 8)), torch.randn(1, 3, 8, 8, dtype=torch.complex64)
    image = torch.randn(1, 1, 8, 8, dtype=torch.complex64, requires_grad=True)
    out = op(image, points, smaps=smaps)
    out.abs().pow(2).sum().backward()
    return out, image.grad


def sparse():
    points = (torch.rand(2, 30) - 0.5) * 2 * torch.pi
    matrices = tkbn.calc_tensor_spmatrix(points, im_size=(8, 8))
    op = tkbn.KbNufft(im_size=(8, 8))
    return op(torch.randn(1, 1, 8, 8, dtype=torch.complex64), points, matrices)


def toeplitz():
    points = (torch.rand(2, 30) - 0.5) * 2 * torch.pi
    kernel = tkbn.calc_toeplitz_kernel(points, im_size=(8, 8))
    density = tkbn.calc_density_compensation_function(points, im_size=(8, 8), num_iterations=3)
    return tkbn.ToepNufft()(torch.randn(1, 1, 8, 8, dtype=torch.complex64), kernel), density
