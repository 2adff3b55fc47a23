"""nnAudio: spectrograms as layers."""

import torch
from nnAudio import features


def short_time():
    layer = features.STFT(n_fft=256, hop_length=64, output_format="Magnitude", verbose=False)
    x = torch.randn(2, 2000, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    return y, x.grad


def mel():
    x = torch.randn(2, 2000)
    mel = features.MelSpectrogram(sr=8000, n_fft=256, n_mels=16, hop_length=64, verbose=False)
    return mel(x), features.MFCC(sr=8000, n_mfcc=8, n_fft=256, n_mels=16, hop_length=64, verbose=False)(x)


def constant_q():
    layer = features.CQT1992v2(sr=8000, hop_length=64, fmin=220, n_bins=24, bins_per_octave=12, verbose=False)
    return layer(torch.randn(1, 4000))


def learned():
    layer = features.STFT(n_fft=128, hop_length=32, trainable=True, output_format="Magnitude", verbose=False)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        loss = layer(torch.randn(2, 1000)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def inverse():
    x = torch.randn(1, 2000)
    spec = features.STFT(n_fft=256, hop_length=64, iSTFT=True, output_format="Complex", verbose=False)
    return spec.inverse(spec(x), length=2000)
