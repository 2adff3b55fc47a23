"""asteroid-filterbanks: learned and fixed filterbanks, their inverses, and what is computed of a spectrogram."""

import torch
from asteroid_filterbanks import (
    STFTFB,
    AnalyticFreeFB,
    Decoder,
    Encoder,
    FreeFB,
    MelGramFB,
    ParamSincFB,
    make_enc_dec,
)
from asteroid_filterbanks.griffin_lim import griffin_lim
from asteroid_filterbanks.transforms import angle, apply_mag_mask, from_magphase, mag, magreim, reim


def encoders():
    wave = torch.randn(2, 1, 800)
    banks = (FreeFB(16, 32), AnalyticFreeFB(16, 32), ParamSincFB(16, 33), STFTFB(32, 32))
    return [Encoder(bank)(wave) for bank in banks]


def inverse():
    encoder, decoder = make_enc_dec("stft", 64, 64, 16)
    wave = torch.randn(2, 1, 800)
    return decoder(encoder(wave), length=800)


def train():
    encoder, decoder = Encoder(FreeFB(16, 32, stride=8)), Decoder(FreeFB(16, 32, stride=8))
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    losses = []
    for _ in range(4):
        wave = torch.randn(3, 1, 400)
        loss = (decoder(torch.relu(encoder(wave)), length=400) - wave).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, encoder.filterbank.filters()


def spectrogram():
    spec = Encoder(STFTFB(64, 64, stride=16))(torch.randn(1, 1, 400))
    phase = angle(spec)
    masked = apply_mag_mask(spec, torch.rand_like(mag(spec)))
    return mag(spec), reim(spec)[0], magreim(spec), masked, from_magphase(mag(spec), phase)


def scripted():
    encoder, decoder = make_enc_dec("free", 16, 32, 8)
    wave = torch.randn(2, 400)
    return torch.jit.trace(encoder, wave)(torch.randn(3, 300)), torch.jit.script(decoder)(encoder(wave))


def mel():
    return Encoder(MelGramFB(64, 64, stride=32, sample_rate=8000, n_mels=8))(torch.randn(1, 1, 800))


def from_magnitude():
    encoder = Encoder(STFTFB(64, 64, stride=16))
    return griffin_lim(mag(encoder(torch.randn(1, 1, 400))), encoder, n_iter=3, angles=torch.zeros(1, 33, 22))
