"""Schedulers resumed at any epoch, with last_epoch or step(epoch)."""
from __future__ import annotations

import copy

import pytest
from libraries import library

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


def several(schedules, optimizer, name, last_epoch=-1):
    """Make a scheduler of others, all resumed at ``last_epoch``."""
    def inner(kind, *arguments):
        return getattr(schedules, kind)(optimizer, *arguments, last_epoch=last_epoch)
    match name:
        case "chained":
            return schedules.ChainedScheduler([inner("ConstantLR", 0.1, 3), inner("ExponentialLR", 0.9)])
        case "three chained":
            return schedules.ChainedScheduler([inner("LinearLR", 0.1, 1.0, 5), inner("StepLR", 4, 0.5), inner("CosineAnnealingLR", 9)])
        case "sequential":
            parts = [inner("ConstantLR", 0.1, 3), inner("ExponentialLR", 0.9)]
            return schedules.SequentialLR(optimizer, parts, [5], last_epoch=last_epoch)
        case "three in turn":
            parts = [inner("LinearLR", 0.1, 1.0, 5), inner("CosineAnnealingLR", 10), inner("StepLR", 3, 0.5)]
            return schedules.SequentialLR(optimizer, parts, [5, 17], last_epoch=last_epoch)
        case _:
            parts = [inner("LinearLR", 0.1, 1.0, 5), inner("CosineAnnealingWarmRestarts", 4)]
            return schedules.SequentialLR(optimizer, parts, [6], last_epoch=last_epoch)


SEVERAL = ["chained", "three chained", "sequential", "three in turn", "warm restarts in turn"]


def made(xp, name):
    """Return an optimizer and a scheduler."""
    a, b = (xp.nn.Parameter(xp.ones(1)) for _ in range(2))
    optimizer = xp.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.05}], lr=0.1, momentum=0.9)
    schedules = xp.optim.lr_scheduler
    if name in SEVERAL:
        return optimizer, several(schedules, optimizer, name)
    if name == "plateau":
        return optimizer, schedules.ReduceLROnPlateau(optimizer, factor=0.5, patience=2, cooldown=1, threshold=0.1)
    kind, keywords = SCHEDULERS[name]
    return optimizer, getattr(schedules, kind)(optimizer, **keywords)


def go_on(optimizer, scheduler, epochs):
    """Return the rates and momenta of some epochs."""
    found = []
    for _ in range(epochs):
        optimizer.step()
        if type(scheduler).__name__ == "ReduceLROnPlateau":
            scheduler.step(1.0 if scheduler.last_epoch % 7 else 0.5)
        else:
            scheduler.step()
        found.append([x for group in optimizer.param_groups for x in (group["lr"], group["momentum"])] + list(scheduler.get_last_lr()))
    return found


def from_state(xp, name, epoch, optimizer_first):
    """Return the rates after an epoch, from a new optimizer and scheduler that have loaded the state of others."""
    states = [copy.deepcopy(x.state_dict()) for x in _advanced(xp, name, epoch)]
    optimizer, scheduler = made(xp, name)
    for x, state in ((optimizer, states[0]), (scheduler, states[1])) if optimizer_first else ((scheduler, states[1]), (optimizer, states[0])):
        x.load_state_dict(state)
    return go_on(optimizer, scheduler, 5)


def _advanced(xp, name, epoch):
    optimizer, scheduler = made(xp, name)
    go_on(optimizer, scheduler, epoch)
    return optimizer, scheduler


@pytest.mark.parametrize("optimizer_first", [True, False])
@pytest.mark.parametrize("name", [*SCHEDULERS, *SEVERAL, "plateau"])
def test_from_the_state_at_each_epoch(name, optimizer_first, xp):
    """The rates are those of a scheduler without an interruption."""
    optimizer, scheduler = made(xp, name)
    rates = go_on(optimizer, scheduler, 45)
    for epoch in range(40):
        for got, expected in zip(from_state(xp, name, epoch, optimizer_first), rates[epoch:epoch + 5], strict=True):
            assert got == pytest.approx(expected, rel=1e-9)


RATES = {       # PyTorch's rates after 1, 10, 20, 30 and 40 epochs.
    "warm restarts": [0.0853553391, 0.05, 0.1, 0.05, 0.1],
    "longer warm restarts": [0.1, 0.1, 0.1, 0.1, 0.1],
    "cosine": [0.0950484434, 0.0388739533, 0.0049515566, 0.0811744901, 0.0811744901],
    "step": [0.1, 0.001, 1e-05, 1e-07, 1e-09],
    "milestones": [0.1, 0.001, 0.001, 0.0001, 0.0001],
    "exponential": [0.09, 0.034867844, 0.0121576655, 0.00423911583, 0.00147808829],
    "constant": [0.0333333333, 0.1, 0.1, 0.1, 0.1],
    "linear": [0.0444444444, 0.1, 0.1, 0.1, 0.1],
    "polynomial": [0.0790123457, 0.0, 0.0, 0.0, 0.0],
    "lambda": [0.05, 0.00909090909, 0.00476190476, 0.00322580645, 0.00243902439],
    "multiplicative": [0.09, 0.034867844, 0.0121576655, 0.00423911583, 0.00147808829],
    "cyclic": [0.325, 0.55, 1.0, 0.55, 0.1],
    "one cycle": [0.0481729122, 0.651358235, 0.987464006, 0.781660902, 0.425481165],
    "chained": [0.009, 0.034867844, 0.0121576655, 0.00423911583, 0.00147808829],
    "three chained": [0.0271556967, 0.00301536896, 0.0110377778, 0.025, 0.00733530111],
    "sequential": [0.01, 0.059049, 0.0205891132, 0.00717897988, 0.0025031555],
    "three in turn": [0.028, 0.05, 0.05, 0.00625, 0.00078125],
    "warm restarts in turn": [0.028, 0.1, 0.05, 0.1, 0.05],
    "plateau": [0.1, 0.025, 0.003125, 0.00078125, 9.765625e-05],
}
LAST_EPOCHS = {     # PyTorch's rates three epochs after those of RATES.
    "chained": [0.0729, 0.04782969, 0.0282429536, 0.0121576655, 0.00119725152],
    "three chained": [0.00885994122, 0.000877944901, 0.0, 0.00909230916, 0.00186881673],
    "sequential": [1.0, 0.0729, 0.0729, 0.0729, 0.0729],
    "three in turn": [0.292857143, 0.0314904046, 0.00954915028, 0.05, 0.05],
    "warm restarts in turn": [0.292857143, 0.0146446609, 0.0853553391, 0.0853553391, 0.0146446609],
}


@pytest.mark.parametrize("name", RATES)
def test_rates_of_40_epochs(xp, name):
    rates = go_on(*made(xp, name), 40)
    assert [rates[k][0] for k in (0, 9, 19, 29, 39)] == pytest.approx(RATES[name], rel=1e-7, abs=1e-12)


def last_epochs(xp, name):
    """Return the rates of three epochs after each of 40 epochs, from new inner and outer schedulers resumed there."""
    found = []
    for epoch in range(40):
        optimizer, _ = _advanced(xp, name, epoch)
        found.append(go_on(optimizer, several(xp.optim.lr_scheduler, optimizer, name, last_epoch=epoch), 3))
    return found


@pytest.mark.parametrize("name", SEVERAL)
def test_schedulers_of_several_from_each_epoch(xp, name):
    found = [rates[-1][0] for rates in last_epochs(xp, name)]
    assert [found[k] for k in (0, 4, 9, 17, 39)] == pytest.approx(LAST_EPOCHS[name], rel=1e-7, abs=1e-12)


@pytest.mark.conformance
@pytest.mark.parametrize("name", SEVERAL)
def test_all_of_these_rates_are_pytorchs(torch, name):
    jtorch = library("jtorch")
    for got, expected in zip(last_epochs(jtorch, name), last_epochs(torch, name), strict=True):
        for rates, others in zip(got, expected, strict=True):
            assert rates == pytest.approx(others, rel=1e-9, abs=1e-12)
