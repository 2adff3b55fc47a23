"""ema-pytorch: running averages of models."""

import torch
from ema_pytorch import EMA, KarrasEMA, PostHocEMA


def _train(model, average, steps=6):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
        average.update()


def average():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
    ema = EMA(model, beta=0.9, update_after_step=1, update_every=2)
    _train(model, ema)
    return ema.ema_model.state_dict(), ema(torch.ones(2, 4)), ema.state_dict()


def karras():
    model = torch.nn.Linear(4, 2)
    ema = KarrasEMA(model, sigma_rel=0.1, update_every=1)
    _train(model, ema)
    return ema.state_dict()


def after_training():
    model = torch.nn.Linear(4, 2)
    ema = PostHocEMA(model, sigma_rels=(0.05, 0.28), update_every=1, checkpoint_every_num_steps=2, checkpoint_folder="kept")
    _train(model, ema)
    return ema.synthesize_ema_model(sigma_rel=0.15).state_dict()
