"""pytorch-msssim: how alike images are."""

import torch
from pytorch_msssim import MS_SSIM, SSIM, ms_ssim, ssim


def values():
    x, y = torch.rand(2, 3, 180, 180), torch.rand(2, 3, 180, 180)
    return ssim(x, y, data_range=1, size_average=False), ms_ssim(x, (x + y) / 2, data_range=1, size_average=False)


def losses():
    x, y = torch.rand(1, 1, 180, 180, requires_grad=True), torch.rand(1, 1, 180, 180)
    loss = 2 - SSIM(data_range=1.0, channel=1)(x, y) - MS_SSIM(data_range=1.0, channel=1)(x, y)
    loss.backward()
    return loss, x.grad


def volumes():
    x = torch.rand(1, 2, 12, 20, 20)
    return ssim(x, x.sqrt(), data_range=1.0, win_size=7, nonnegative_ssim=True)
