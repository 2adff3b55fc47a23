"""functorch's modules as functions, which older programs import."""
from __future__ import annotations

import importlib

import pytest


def made(xp):
    return importlib.import_module(f"{xp.__name__}._functorch.make_functional")


def test_a_function_of_parameters(xp):
    model = xp.nn.Linear(2, 3)
    function, parameters = made(xp).make_functional(model)
    x = xp.ones(4, 2)
    assert xp.equal(function(parameters, x), model(x)) and function(tuple(p * 0 for p in parameters), x).abs().sum() == 0
    assert parameters[0] is not model.weight and parameters[0].requires_grad


def test_buffers(xp):
    model = xp.nn.BatchNorm1d(2).eval()
    function, parameters, buffers = made(xp).make_functional_with_buffers(model)
    x = xp.randn(3, 2)
    assert xp.equal(function(parameters, buffers, x), model(x))
    with pytest.raises(RuntimeError, match="`model` has buffers"):
        made(xp).make_functional(model)


def test_an_ensemble(xp):
    models = [xp.nn.Linear(2, 1) for _ in range(3)]
    function, parameters, buffers = made(xp).combine_state_for_ensemble(models)
    x = xp.randn(4, 2)
    each = xp.func.vmap(function, in_dims=(0, 0, None))(parameters, buffers, x)
    assert xp.allclose(each, xp.stack([m(x) for m in models]))
