"""torchlibrosa: librosa's spectrograms as layers."""

import torch
from torchlibrosa.augmentation import SpecAugmentation
from torchlibrosa.stft import ISTFT, STFT, LogmelFilterBank, Spectrogram


def spectrogram():
    x = torch.randn(2, 2000)
    spec = Spectrogram(n_fft=256, hop_length=64)(x)
    return spec, LogmelFilterBank(sr=8000, n_fft=256, n_mels=16)(spec)


def inverse():
    x = torch.randn(2, 2000)
    real, imag = STFT(n_fft=256, hop_length=64)(x)
    return real, ISTFT(n_fft=256, hop_length=64)(real, imag, 2000)


def augmentation():
    layer = SpecAugmentation(time_drop_width=8, time_stripes_num=2, freq_drop_width=4, freq_stripes_num=2).train()
    return layer(torch.rand(3, 1, 32, 16))
