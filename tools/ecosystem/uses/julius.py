"""julius: resampling and filters of sound."""

import julius
import torch


def resampling():
    x = torch.randn(2, 800)
    return julius.resample_frac(x, 8, 5), julius.ResampleFrac(4, 7)(x), julius.resample_frac(x, 2, 1, full=True)


def filters():
    x = torch.randn(2, 1000)
    return (
        julius.lowpass_filter(x, 0.1),
        julius.highpass_filter(x, 0.2, zeros=4),
        julius.bandpass_filter(x, 0.1, 0.3, fft=True),
        julius.LowPassFilters([0.05, 0.2], stride=2)(x),
    )


def bands():
    return julius.split_bands(torch.randn(1, 1000), 1000, n_bands=3)


def convolution():
    x, w = torch.randn(2, 3, 400, requires_grad=True), torch.randn(4, 3, 60)
    y = julius.fft_conv1d(x, w, stride=2, padding=5)
    y.square().sum().backward()
    return y, x.grad
