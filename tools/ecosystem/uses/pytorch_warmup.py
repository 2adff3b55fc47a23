"""pytorch-warmup: learning rates that grow at first."""

import pytorch_warmup as warmup
import torch


def _rates(make, steps=8):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)
    warm = make(optimizer)
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.zero_grad()
        model(torch.randn(4, 2)).square().mean().backward()
        optimizer.step()
        with warm.dampening():
            schedule.step()
    return rates, warm.state_dict(), model.weight


def linear():
    return _rates(lambda optimizer: warmup.LinearWarmup(optimizer, warmup_period=5))


def exponential():
    return _rates(lambda optimizer: warmup.ExponentialWarmup(optimizer, warmup_period=5))


def untuned():
    return _rates(warmup.UntunedLinearWarmup), _rates(warmup.UntunedExponentialWarmup)


def radam():
    return _rates(warmup.RAdamWarmup)
