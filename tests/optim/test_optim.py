"""torch.optim against PyTorch: every optimizer and its options, on the same parameters and gradients."""
from __future__ import annotations

import numpy as np
import pytest
from libraries import library

TABLE = [(name, options) for name, several in {
    "SGD": [{}, {"momentum": 0.9, "nesterov": True}, {"momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1, "maximize": True}],
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True}],
    "AdamW": [{}, {"amsgrad": True}],
    "Adamax": [{}, {"weight_decay": 0.1}, {"maximize": True, "lr": 0.01}],
    "NAdam": [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True, "momentum_decay": 6e-3}],
    "RAdam": [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}],
    "Adagrad": [{}, {"lr_decay": 0.5, "weight_decay": 0.1}, {"initial_accumulator_value": 0.1, "maximize": True}],
    "Adadelta": [{}, {"rho": 0.95, "weight_decay": 0.1}, {"maximize": True}],
    "RMSprop": [{}, {"centered": True}, {"momentum": 0.9, "centered": True, "weight_decay": 0.1}, {"momentum": 0.5, "maximize": True}],
    "Rprop": [{}, {"etas": (0.4, 1.5), "step_sizes": (2e-4, 3.0)}, {"maximize": True}],
    "ASGD": [{}, {"t0": 4, "lambd": 0.01, "weight_decay": 0.1}, {"maximize": True, "lr": 0.02}],
    "Adafactor": [{}, {"eps": (1e-5, 0.01), "weight_decay": 0.1}, {"d": 1.5, "maximize": True}],
    "Muon": [{}, {"adjust_lr_fn": "match_rms_adamw", "nesterov": False, "lr": 0.01}],
}.items() for options in several]
SHAPES = [(4, 3), (3,), (2, 5)]
IDS = [f"{n}-{'-'.join(o) or 'default'}" for n, o in TABLE]


def parameters(xp, name: str, seed: int = 0) -> list:
    rng = np.random.default_rng(seed)
    shapes = [s for s in SHAPES if len(s) == 2] if name == "Muon" else SHAPES
    return [xp.tensor(rng.standard_normal(s), dtype=xp.float32, requires_grad=True) for s in shapes]


def train(optimizer, params, steps: int, first: int = 0) -> None:
    for i in range(first, first + steps):
        rng = np.random.default_rng(i + 10)
        optimizer.zero_grad()
        loss = sum(((p - type_of(p).tensor(rng.standard_normal(tuple(p.shape)).astype("f4"))) ** 2).sum() for p in params)
        loss.backward()
        optimizer.step()


def type_of(p):
    return library(type(p).__module__.split(".")[0])


def assert_same(theirs, ours, **tolerance):
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), **tolerance)


def tolerance(name: str) -> dict:
    return {"rtol": 2e-2, "atol": 5e-4} if name == "Muon" else {"rtol": 2e-5, "atol": 2e-6}


def make(xp, name: str, options: dict):
    params = parameters(xp, name)
    return params, getattr(xp.optim, name)(params, **options)


@pytest.mark.conformance
@pytest.mark.parametrize("name, options", TABLE, ids=IDS)
def test_steps_and_state_are_pytorchs(torch, name, options):
    (a, theirs), (b, ours) = (make(xp, name, options) for xp in (torch, library("jtorch")))
    train(theirs, a, 12)
    train(ours, b, 12)
    assert_same(a, b, **tolerance(name))
    x, y = theirs.state_dict(), ours.state_dict()
    missing = {"fused"} if name == "SGD" else set()
    assert set(x["param_groups"][0]) - missing == set(y["param_groups"][0]) - missing
    for k, state in x["state"].items():
        assert set(state) == set(y["state"][k])
        for key, value in state.items():
            got = y["state"][k][key]
            if value is not None:
                assert str(got.dtype) == str(value.dtype)
                np.testing.assert_allclose(got.numpy(), value.numpy(), **tolerance(name))


def translated(value, xp):
    if hasattr(value, "numpy"):
        return xp.tensor(value.detach().numpy().copy())
    if isinstance(value, dict):
        return {k: translated(v, xp) for k, v in value.items()}
    return [translated(v, xp) for v in value] if isinstance(value, list) else value


@pytest.mark.conformance
@pytest.mark.parametrize("direction", ["to", "from"])
@pytest.mark.parametrize("name, options", TABLE, ids=IDS)
def test_state_dicts_are_exchanged(torch, name, options, direction):
    one, other = (torch, library("jtorch"))[::1 if direction == "from" else -1]
    params, first = make(one, name, options)
    train(first, params, 4)
    copies = [other.tensor(p.detach().numpy().copy(), requires_grad=True) for p in params]
    second = getattr(other.optim, name)(copies, lr=0.5)
    second.load_state_dict(translated(first.state_dict(), other))
    train(first, params, 4, 4)
    train(second, copies, 4, 4)
    assert_same(params, copies, **tolerance(name))


@pytest.mark.parametrize("name, options, message", [
    ("Adamax", {"lr": -1.0}, "Invalid learning rate: -1.0"),
    ("NAdam", {"momentum_decay": -1.0}, "Invalid momentum_decay value: -1.0"),
    ("RAdam", {"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
    ("Adagrad", {"lr_decay": -1.0}, "Invalid lr_decay value: -1.0"),
    ("Adadelta", {"rho": 1.5}, "Invalid rho value: 1.5"),
    ("RMSprop", {"alpha": -1.0}, "Invalid alpha value: -1.0"),
    ("Rprop", {"etas": (1.0, 0.5)}, "Invalid eta values: 1.0, 0.5"),
    ("ASGD", {"weight_decay": -1.0}, "Invalid weight_decay value: -1.0"),
    ("Adafactor", {"d": 0.5}, "Clipping threshold d should be >= 1 but is: 0.5"),
    ("SparseAdam", {"lr": 0.0}, "Invalid learning rate: 0.0")])
def test_options_are_checked(xp, name, options, message):
    with pytest.raises(ValueError) as caught:
        make(xp, name, options)
    assert str(caught.value) == message


def test_sparse_adam_wants_sparse_gradients(xp):
    params, optimizer = make(xp, "SparseAdam", {})
    params[0].sum().backward()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam instead"):
        optimizer.step()
