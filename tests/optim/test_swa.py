"""torch.optim.swa_utils against PyTorch: averages, batch norm statistics and the scheduler."""
from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from libraries import library


def model_of(xp):
    model = xp.nn.Sequential(xp.nn.Linear(3, 4), xp.nn.BatchNorm1d(4), xp.nn.Linear(4, 2))
    rng = np.random.default_rng(0)
    for p in model.parameters():
        p.data.copy_(xp.from_numpy(rng.standard_normal(tuple(p.shape)).astype("f4")))
    return model


def train(xp, model, averaged, steps: int = 5) -> None:
    rng = np.random.default_rng(1)
    optimizer = xp.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        model(xp.from_numpy(rng.standard_normal((8, 3)).astype("f4"))).square().mean().backward()
        optimizer.step()
        averaged.update_parameters(model)


AVERAGES = {
    "default": lambda xp: {},
    "swa": lambda xp: {"avg_fn": xp.optim.swa_utils.get_swa_avg_fn()},
    "swa lists": lambda xp: {"multi_avg_fn": xp.optim.swa_utils.get_swa_multi_avg_fn()},
    "ema": lambda xp: {"avg_fn": xp.optim.swa_utils.get_ema_avg_fn(0.9)},
    "ema lists": lambda xp: {"multi_avg_fn": xp.optim.swa_utils.get_ema_multi_avg_fn(0.9)},
    "ema lists, buffers": lambda xp: {"multi_avg_fn": xp.optim.swa_utils.get_ema_multi_avg_fn(0.9), "use_buffers": True},
    "default, buffers": lambda xp: {"use_buffers": True},
    "one's own": lambda xp: {"avg_fn": lambda a, b, n: 0.25 * a + 0.75 * b},
}


@pytest.mark.conformance
@pytest.mark.parametrize("options", AVERAGES)
def test_averages_are_pytorchs(torch, options):
    states = []
    for xp in (torch, library("jtorch")):
        model = model_of(xp)
        averaged = xp.optim.swa_utils.AveragedModel(model, **AVERAGES[options](xp))
        train(xp, model, averaged)
        states.append({k: v.numpy() for k, v in averaged.state_dict().items()})
        assert not np.allclose(averaged.module[0].weight.detach().numpy(), model[0].weight.detach().numpy())
    theirs, ours = states
    assert list(theirs) == list(ours)
    for k, v in theirs.items():
        assert ours[k].dtype == v.dtype
        np.testing.assert_allclose(ours[k], v, rtol=1e-5, atol=1e-6, err_msg=k)


def test_an_averaged_model_is_loaded_and_goes_on(xp):
    model = model_of(xp)
    first = xp.optim.swa_utils.AveragedModel(model)
    train(xp, model, first, 2)
    second = xp.optim.swa_utils.AveragedModel(model_of(xp))
    second.load_state_dict(first.state_dict())
    assert int(second.n_averaged) == 2
    model[0].weight.data.fill_(0.0)
    before = first.module[0].weight.detach().numpy().copy()
    second.update_parameters(model)
    np.testing.assert_allclose(second.module[0].weight.detach().numpy(), before * 2 / 3, rtol=1e-5)


def test_the_averaged_model_is_called_like_the_model(xp):
    model = model_of(xp).eval()
    averaged = copy.deepcopy(xp.optim.swa_utils.AveragedModel(model))
    x = xp.ones(2, 3)
    np.testing.assert_array_equal(averaged(x).detach().numpy(), model(x).detach().numpy())


@pytest.mark.parametrize("wrong", [-0.1, 1.1])
@pytest.mark.parametrize("name", ["get_ema_avg_fn", "get_ema_multi_avg_fn"])
def test_a_decay_is_between_0_and_1(xp, name, wrong):
    with pytest.raises(ValueError, match=rf"Invalid decay value {wrong} provided. Please provide a value in \[0,1\] range."):
        getattr(xp.optim.swa_utils, name)(wrong)


def test_only_one_way_of_averaging(xp):
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"):
        xp.optim.swa_utils.AveragedModel(model_of(xp), avg_fn=max, multi_avg_fn=max)


def test_integers_are_averaged_too(xp):
    a, b = [xp.tensor([2, 8])], [xp.tensor([4, 0])]
    xp.optim.swa_utils.get_ema_multi_avg_fn(0.5)(a, b, 1)
    assert a[0].tolist() == [3, 4]


@pytest.mark.conformance
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x, None]], ids=["tensors", "pairs"])
def test_update_bn_is_pytorchs(torch, wrap):
    found = []
    for xp in (torch, library("jtorch")):
        model = model_of(xp).eval()
        batches = [wrap(xp.from_numpy(x)) for x in np.random.default_rng(2).standard_normal((3, 6, 3)).astype("f4")]
        xp.optim.swa_utils.update_bn(batches, model)
        assert model[1].momentum == 0.1 and not model.training
        found.append((model[1].running_mean.numpy(), model[1].running_var.numpy(), int(model[1].num_batches_tracked)))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)


def test_update_bn_leaves_a_model_without_batch_norm_alone(xp):
    def called():
        raise AssertionError
        yield
    xp.optim.swa_utils.update_bn(called(), xp.nn.Linear(1, 1))


@pytest.mark.conformance
@pytest.mark.parametrize("options", [{}, {"anneal_strategy": "linear", "anneal_epochs": 4}, {"anneal_epochs": 0}], ids=str)
@pytest.mark.parametrize("rates", [0.05, [0.05, 0.2]], ids=["one", "each"])
def test_swalr_is_pytorchs(torch, options, rates):
    seen = []
    for xp in (torch, library("jtorch")):
        p, q = (xp.zeros(1, requires_grad=True) for _ in range(2))
        optimizer = xp.optim.SGD([{"params": [p]}, {"params": [q], "lr": 0.5}], lr=0.1)
        scheduler = xp.optim.swa_utils.SWALR(optimizer, swa_lr=rates, **options)
        rows = [scheduler.get_last_lr()]
        for i in range(12):
            if i == 3:
                scheduler = resumed(xp, optimizer, scheduler, rates, options)
            optimizer.step()
            scheduler.step()
            rows.append(scheduler.get_last_lr())
        seen.append(rows)
    np.testing.assert_allclose(seen[1], seen[0], rtol=1e-12)


def resumed(xp, optimizer, scheduler, rates, options):
    rows = [g["lr"] for g in optimizer.param_groups]
    fresh = xp.optim.swa_utils.SWALR(optimizer, swa_lr=rates, **options)
    assert "anneal_func" not in scheduler.state_dict()
    fresh.load_state_dict(scheduler.state_dict())
    for g, lr in zip(optimizer.param_groups, rows, strict=True):
        g["lr"] = lr
    return fresh


def test_swalr_checks_its_options(xp):
    optimizer = xp.optim.SGD([xp.zeros(1, requires_grad=True)], lr=0.1)
    make = xp.optim.swa_utils.SWALR
    with pytest.raises(ValueError, match="anneal_strategy must be one of 'cos' or 'linear', instead got x"):
        make(optimizer, 0.1, anneal_strategy="x")
    with pytest.raises(ValueError, match="anneal_epochs must be equal or greater than 0, got -1"):
        make(optimizer, 0.1, anneal_epochs=-1)
    with pytest.raises(ValueError, match="swa_lr must have the same length as optimizer.param_groups. swa_lr has 2 values"):
        make(optimizer, [0.1, 0.2])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(optimizer, 0.1).get_lr()
    assert any("please use `get_last_lr()`" in str(w.message) for w in caught)
