"""Every optimizer on the inputs of PyTorch's own optimizer database: twenty steps, the states, and the errors."""
from __future__ import annotations

import warnings

import numpy as np
import pytest
from libraries import HAS_TORCH, NO_TORCH, library

if not HAS_TORCH:
    pytest.skip(NO_TORCH, allow_module_level=True)

STEPS = 20
NAMES = ("ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "RAdam", "RMSprop",
         "Rprop", "SGD", "SparseAdam")


def infos() -> dict:
    library("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_optimizers import optim_db
    return {info.name: info for info in optim_db}


def test_the_database_holds_no_other_optimizer():
    assert sorted(infos()) == sorted(NAMES)


def ours(x):
    """Return a value of PyTorch's in jtorch."""
    torch, jtorch = library("torch"), library("jtorch")
    if isinstance(x, torch.nn.Parameter):
        return jtorch.nn.Parameter(jtorch.from_numpy(x.detach().numpy().copy()))
    if isinstance(x, torch.Tensor) and x.is_sparse:
        return ours(x.to_dense()).to_sparse()
    if isinstance(x, torch.Tensor):
        return jtorch.from_numpy(x.detach().numpy().copy()).requires_grad_(x.requires_grad)
    if isinstance(x, dict):
        return {k: ours(v) for k, v in x.items()}
    return type(x)(ours(v) for v in x) if isinstance(x, (list, tuple)) else x


def same_state(a, b, **tolerance) -> None:
    """Check that two states have the same keys, nesting, dtypes and numbers."""
    if isinstance(a, dict):
        assert set(a) == set(b)
        for k in a:
            same_state(a[k], b[k], **tolerance)
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same_state(x, y, **tolerance)
    elif hasattr(a, "dtype") and hasattr(b, "dtype"):
        assert str(a.dtype) == str(b.dtype)
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), **tolerance)
    elif a is None or isinstance(a, (str, bool)):
        assert a == b
    else:
        np.testing.assert_allclose(float(b), float(a), **tolerance)


def closure_of(xp, optimizer, weight, bias, at):
    def closure():
        optimizer.zero_grad()
        residual = weight @ at[0] + bias - at[1] if weight.ndim == 2 else weight * at[0] + bias - at[1]
        loss = (residual ** 2).sum() + 0.1 * (weight ** 2).sum()
        loss.backward()
        return loss
    return closure


def run(xp, name: str, kwargs: dict, data, first: int = 0):
    weight, bias, batches = data
    two = name == "Muon"
    params = [xp.nn.Parameter(xp.from_numpy(weight.copy())), xp.nn.Parameter(xp.from_numpy((bias[:, None] if two else bias).copy()))]
    optimizer = getattr(xp.optim, name)(params, **kwargs)
    losses = []
    for x, y in batches:
        at = (xp.from_numpy(x[:, None] if two else x), xp.from_numpy(y[:, None] if two else y))
        losses.append(optimizer.step(closure_of(xp, optimizer, *params, at)).item())
    return params, optimizer, losses


def cases(name: str) -> list:
    return [i for i in infos()[name].optim_inputs_func(device="cpu") if not i.kwargs.get("capturable")]


TOLERANCE = {"Muon": dict(rtol=5e-2, atol=2e-3), "LBFGS": dict(rtol=2e-3, atol=2e-4), "Rprop": dict(rtol=1e-5, atol=1e-6)}


@pytest.mark.conformance
@pytest.mark.parametrize("name", [n for n in NAMES if n != "SparseAdam"])
def test_twenty_steps_are_pytorchs(torch, name, rng):
    jtorch = library("jtorch")
    batches = [(rng.standard_normal(3).astype("f4"), rng.standard_normal(4).astype("f4")) for _ in range(STEPS)]
    if name == "LBFGS":
        batches = batches[:1] * 3
    data = rng.standard_normal((4, 3)).astype("f4"), rng.standard_normal(4).astype("f4"), batches
    tolerance = TOLERANCE.get(name, dict(rtol=2e-5, atol=2e-6))
    for case in cases(name):
        theirs, first, a = run(torch, name, case.kwargs, data)
        mine, second, b = run(jtorch, name, ours(case.kwargs), data)
        np.testing.assert_allclose(b, a, err_msg=case.desc, **tolerance)
        for p, q in zip(theirs, mine, strict=True):
            np.testing.assert_allclose(q.detach().numpy(), p.detach().numpy(), err_msg=case.desc, **tolerance)
        if name != "LBFGS":
            same_state(first.state_dict(), second.state_dict(), **tolerance)
        else:
            assert set(first.state_dict()["state"][0]) == set(second.state_dict()["state"][0])


@pytest.mark.conformance
@pytest.mark.parametrize("name", NAMES)
def test_errors_are_pytorchs(torch, name):
    jtorch = library("jtorch")
    for case in infos()[name].optim_error_inputs_func(device="cpu", dtype=torch.float32):
        given = case.optimizer_error_input
        params = given.params if given.params is not None else [torch.nn.Parameter(torch.randn(1, 1))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if case.error_type is not UserWarning else "error")
            with pytest.raises(case.error_type, match=case.error_regex):
                provoke(jtorch, name, shared(params), ours(given.kwargs), at_step=case.error_on.name == "STEP_ERROR")


def shared(params):
    """Return the parameters in jtorch. A parameter in several places stays one."""
    torch = library("torch")
    made: dict = {}

    def one(x):
        if isinstance(x, torch.Tensor):
            return made.setdefault(id(x), ours(x))
        if isinstance(x, dict):
            return {k: one(v) for k, v in x.items()}
        return type(x)(one(v) for v in x) if isinstance(x, (list, tuple)) else x
    return one(params)


def provoke(xp, name, params, kwargs, at_step: bool) -> None:
    optimizer = getattr(xp.optim, name)(params, **kwargs)
    if at_step:
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.grad = xp.ones_like(p)
        optimizer.step()
