"""Modules, parameters and buffers by dotted names, as exchanged by tensordict and functional calls."""
from __future__ import annotations

import importlib

import pytest
from libraries import library


def accessor(xp, module):
    return importlib.import_module(f"{xp.__name__}.nn.utils._named_member_accessor").NamedMemberAccessor(module)


def net(xp):
    return xp.nn.Sequential(xp.nn.Linear(2, 3), xp.nn.BatchNorm1d(3))


def test_tensors_are_exchanged_and_given_back(torch):
    def work(xp):
        model = net(xp)
        found = accessor(xp, model)
        before = found.swap_tensor("0.weight", xp.ones(3, 2))
        inside = model(xp.ones(4, 2)).shape, "0.weight" in dict(model.named_parameters())
        found.set_tensor("0.weight", before)
        old, missing = found.swap_tensors_dict({"0.bias": xp.zeros(3), "1.running_mean": xp.ones(3)})
        return (tuple(inside[0]), inside[1], isinstance(model[0].weight, xp.nn.Parameter), list(old), missing,
                found.get_tensor("1.running_mean").tolist(), found.check_keys(["0.weight", "x"]))

    assert work(library("jtorch")) == work(torch)


def test_modules_are_exchanged(torch):
    def work(xp):
        model = net(xp)
        found = accessor(xp, model)
        old = found.swap_submodule("0", xp.nn.Identity())
        return type(old).__name__, type(found.get_submodule("0")).__name__

    assert work(library("jtorch")) == work(torch)


@pytest.mark.parametrize("name", ["0.none", "none.weight", "0."])
def test_names_that_are_not_there(torch, name):
    said = []
    for xp in (torch, library("jtorch")):
        with pytest.raises((AttributeError, KeyError)) as error:
            accessor(xp, net(xp)).swap_tensor(name, xp.ones(1))
        said.append((error.type, str(error.value)))
    assert said[0] == said[1]
