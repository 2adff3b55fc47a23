"""torch.optim.lr_scheduler against PyTorch: the sequence of rates of every scheduler."""
from __future__ import annotations

import pytest
from libraries import library

SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, [lambda e: 0.95 ** e, lambda e: 1 / (e + 1)]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9),
    "step": lambda s, o: s.StepLR(o, 3),
    "multistep": lambda s, o: s.MultiStepLR(o, [2, 5, 5], 0.5),
    "constant": lambda s, o: s.ConstantLR(o, 0.5, 4),
    "linear": lambda s, o: s.LinearLR(o, 0.25, 0.75, 6),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "polynomial": lambda s, o: s.PolynomialLR(o, 8, 2.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 5, 0.01),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "triangular": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 4),
    "triangular2": lambda s, o: s.CyclicLR(o, [0.01, 0.02], 0.1, 2, 3, mode="triangular2"),
    "exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, mode="exp_range", gamma=0.95, cycle_momentum=False),
    "onecycle": lambda s, o: s.OneCycleLR(o, [0.1, 0.2], total_steps=20),
    "onecycle3": lambda s, o: s.OneCycleLR(o, 0.1, epochs=4, steps_per_epoch=5, three_phase=True, anneal_strategy="linear"),
    "sequential": lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], [4, 9]),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)]),
}


def optimizer(xp):
    a, b = xp.ones(2, requires_grad=True), xp.ones(3, requires_grad=True)
    return xp.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1, momentum=0.9)


def rates(o, s, steps: int) -> list:
    out = []
    for _ in range(steps):
        out.append([x for g in o.param_groups for x in (g["lr"], g["momentum"])] + list(s.get_last_lr()))
        o.step()
        s.step()
    return out


@pytest.mark.conformance
@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_are_pytorchs(torch, name):
    found = []
    for xp in (torch, library("jtorch")):
        o = optimizer(xp)
        s = SCHEDULES[name](xp.optim.lr_scheduler, o)
        found.append((rates(o, s, 18), set(s.state_dict()) - {"_get_lr_called_within_step", "_is_initial", "_scale_fn_ref"}))
    for a, b in zip(found[0][0], found[1][0], strict=True):
        assert b == pytest.approx(a, rel=1e-12)
    assert found[1][1] - {"_get_lr_called_within_step"} == found[0][1]


@pytest.mark.parametrize("name", SCHEDULES)
def test_state_is_taken_over(xp, name):
    o = optimizer(xp)
    s = SCHEDULES[name](xp.optim.lr_scheduler, o)
    rates(o, s, 7)
    other = optimizer(xp)
    copy = SCHEDULES[name](xp.optim.lr_scheduler, other)
    other.load_state_dict(o.state_dict())
    copy.load_state_dict(s.state_dict())
    assert rates(other, copy, 5) == rates(o, s, 5)


@pytest.mark.parametrize("options", [{"patience": 1}, {"mode": "max", "patience": 0, "cooldown": 2, "min_lr": [0.01, 0.1]},
                                     {"threshold_mode": "abs", "threshold": 0.2, "patience": 2}])
def test_plateau(torch, options):
    found = []
    for xp in (torch, library("jtorch")):
        o = optimizer(xp)
        s = xp.optim.lr_scheduler.ReduceLROnPlateau(o, **options)
        found.append([])
        for metric in (1.0, 0.9, 0.95, 0.93, 0.92, 0.91, 0.5, 0.6, 0.7, 0.8):
            s.step(xp.tensor(metric))
            found[-1].append((s.get_last_lr(), s.num_bad_epochs, s.best))
    assert found[0] == found[1]


def test_a_plateau_meets_new_groups(xp):
    def worse(**options):
        o = optimizer(xp)
        s = xp.optim.lr_scheduler.ReduceLROnPlateau(o, patience=0, **options)
        o.add_param_group({"params": [xp.ones(1, requires_grad=True)]})
        s.step(1.0)
        s.step(2.0)
        return [g["lr"] for g in o.param_groups]
    assert worse() == pytest.approx([0.01, 0.05, 0.01])
    with pytest.raises(RuntimeError, match="The number of param groups in the `optimizer` \\(3\\) differs"):
        worse(min_lr=[0.0, 0.0])


@pytest.mark.conformance
@pytest.mark.parametrize("name", [*SCHEDULES, "plateau"])
def test_tensor_rates_are_pytorchs(torch, name):
    """A rate in a tensor stays the same tensor, and ``get_last_lr`` returns copies."""
    make = {**SCHEDULES, "plateau": lambda s, o: s.ReduceLROnPlateau(o, patience=1)}[name]
    found = []
    for xp in (torch, library("jtorch")):
        o = optimizer(xp)
        for g in o.param_groups:
            g["lr"] = xp.tensor(g["lr"], dtype=xp.float64)
        tensors = [g["lr"] for g in o.param_groups]
        try:
            s, rows = make(xp.optim.lr_scheduler, o), []
            for _ in range(8):
                o.step()
                s.step(*([1.0] if name == "plateau" else []))
                rows.append([float(x) for x in s.get_last_lr()])
            assert all(a is g["lr"] for a, g in zip(tensors, o.param_groups, strict=True)) or name in ("onecycle", "onecycle3")
            found.append((rows, [type(x).__name__ for x in s.get_last_lr()]))
        except (TypeError, RuntimeError) as error:
            found.append(type(error))
    assert found[0] == found[1] or (found[1][0] == [pytest.approx(row, rel=1e-9) for row in found[0][0]]
                                    and found[0][1] == found[1][1])


@pytest.mark.conformance
@pytest.mark.parametrize("to", ["torch", "jtorch"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_states_are_exchanged(torch, name, to):
    other, mine = (library(n) for n in (("jtorch", "torch") if to == "torch" else ("torch", "jtorch")))
    o = optimizer(other)
    s = SCHEDULES[name](other.optim.lr_scheduler, o)
    rates(o, s, 5)
    p = optimizer(mine)
    t = SCHEDULES[name](mine.optim.lr_scheduler, p)
    t.load_state_dict(s.state_dict())
    for g, h in zip(p.param_groups, o.param_groups, strict=True):
        g.update({k: v for k, v in h.items() if k != "params"})
    assert near(rates(p, t, 5), rates(o, s, 5))


def near(a: list, b: list) -> bool:
    return all(x == pytest.approx(y, rel=1e-12) for x, y in zip(a, b, strict=True))


def test_order_of_calls_is_warned_about(xp):
    s = xp.optim.lr_scheduler.StepLR(optimizer(xp), 2)
    with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step\\(\\)` before `optimizer.step\\(\\)`"):
        s.step()
    with pytest.warns(UserWarning, match="please use `get_last_lr\\(\\)`"):
        s.get_lr()


def test_not_an_optimizer(xp):
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        xp.optim.lr_scheduler.StepLR(3, 2)
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups\\[0\\] when resuming scheduler with last_epoch >= 0."):
        xp.optim.lr_scheduler.StepLR(optimizer(xp), 2, last_epoch=3)


def test_one_cycle_may_rise_to_its_end(xp):
    s = xp.optim.lr_scheduler.OneCycleLR(optimizer(xp), 0.5, total_steps=5, pct_start=1.0, anneal_strategy="linear")
    rates = [s.get_last_lr()[0]]
    for _ in range(4):
        s.optimizer.step()
        s.step()
        rates.append(s.get_last_lr()[0])
    assert rates == pytest.approx([0.02, 0.14, 0.26, 0.38, 0.5])


def test_optim_shows_its_submodule():
    import jtorch.optim.lr_scheduler
    from jtorch.optim.lr_scheduler import StepLR
    assert StepLR is jtorch._optimizers.lr_scheduler.StepLR
