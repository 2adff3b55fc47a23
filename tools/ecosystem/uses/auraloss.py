"""auraloss: losses of sound."""

import auraloss
import torch


def _sounds():
    x = torch.randn(2, 1, 4000, requires_grad=True)
    return x, x.detach() + 0.1 * torch.randn(2, 1, 4000)


def _value_and_gradient(make):
    x, y = _sounds()
    loss = make()(x, y)
    loss.backward()
    return loss, x.grad


def of_time():
    found = {}
    for name in ("ESRLoss", "DCLoss", "LogCoshLoss", "SNRLoss", "SISDRLoss", "SDSDRLoss"):
        found[name] = _value_and_gradient(getattr(auraloss.time, name))
    return found


def of_spectra():
    return _value_and_gradient(lambda: auraloss.freq.STFTLoss(fft_size=256, hop_size=64, win_length=256))


def of_several_resolutions():
    return _value_and_gradient(
        lambda: auraloss.freq.MultiResolutionSTFTLoss(fft_sizes=[128, 256], hop_sizes=[32, 64], win_lengths=[128, 256])
    )


def of_mel():
    return _value_and_gradient(lambda: auraloss.freq.MelSTFTLoss(8000, fft_size=256, hop_size=64, win_length=256, n_mels=16))


def weighted():
    x, y = _sounds()
    a, b = auraloss.perceptual.FIRFilter(filter_type="hp", fs=8000)(x, y)
    return a, b
