"""Schedulers that go on from any epoch, by last_epoch or by step(epoch)."""
from __future__ import annotations

import pytest

SCHEDULERS = {
    "warm restarts": ("CosineAnnealingWarmRestarts", {"T_0": 4}),
    "longer warm restarts": ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.1}),
    "cosine": ("CosineAnnealingLR", {"T_max": 7}),
    "step": ("StepLR", {"step_size": 5}),
    "milestones": ("MultiStepLR", {"milestones": [3, 9, 30]}),
    "exponential": ("ExponentialLR", {"gamma": 0.9}),
    "constant": ("ConstantLR", {"total_iters": 6}),
    "linear": ("LinearLR", {"total_iters": 6}),
    "polynomial": ("PolynomialLR", {"total_iters": 9, "power": 2.0}),
    "lambda": ("LambdaLR", {"lr_lambda": lambda k: 1 / (k + 1)}),
    "multiplicative": ("MultiplicativeLR", {"lr_lambda": lambda k: 0.9}),
    "cyclic": ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 4, "cycle_momentum": False}),
    "one cycle": ("OneCycleLR", {"max_lr": 1.0, "total_steps": 60, "cycle_momentum": False}),
}


def resumed(xp, name, keywords, epoch):
    optimizer = xp.optim.SGD([xp.nn.Parameter(xp.ones(1))], lr=0.5)
    optimizer.param_groups[0].update(initial_lr=1.0, max_lr=1.0, min_lr=0.01)
    scheduler = getattr(xp.optim.lr_scheduler, name)(optimizer, **keywords, last_epoch=epoch)
    rates = [scheduler.get_last_lr()]
    for _ in range(3):
        optimizer.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr())
    return rates, scheduler.last_epoch


@pytest.mark.parametrize("case", SCHEDULERS)
def test_from_each_epoch(same, case):
    same(lambda xp: [resumed(xp, *SCHEDULERS[case], epoch) for epoch in range(40)], rtol=1e-6)


@pytest.mark.parametrize("case", ["warm restarts", "longer warm restarts"])
def test_steps_to_fractions_of_epochs(same, case):
    def run(xp):
        name, keywords = SCHEDULERS[case]
        optimizer = xp.optim.SGD([xp.nn.Parameter(xp.ones(1))], lr=1.0)
        scheduler, found = getattr(xp.optim.lr_scheduler, name)(optimizer, **keywords), []
        for k in range(80):
            optimizer.step()
            scheduler.step(None if k % 7 == 6 else k / 3)
            found.append((scheduler.get_last_lr(), scheduler.T_cur, scheduler.T_i, scheduler.last_epoch))
        return found
    same(run, rtol=1e-6)
