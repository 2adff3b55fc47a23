"""Optimizers of torch.distributed.optim that are given gradients."""
from __future__ import annotations

import importlib

import pytest

OPTIONS = {"SGD": {"momentum": .9, "nesterov": True}, "Adam": {"amsgrad": True}, "AdamW": {}, "Adamax": {"eps": 1e-5},
           "Adagrad": {"initial_accumulator_value": .5}, "Adadelta": {}, "RMSprop": {"centered": True, "momentum": .5},
           "Rprop": {"step_sizes": (1e-3, 1)}}
pytestmark = pytest.mark.filterwarnings("ignore:`TorchScript` support:DeprecationWarning")


def utils(xp):
    return importlib.import_module(f"{xp.__name__}.distributed.optim.utils")


@pytest.mark.parametrize("name", OPTIONS)
def test_steps_equal_those_with_grad(xp, name):
    given, read = xp.ones(3), xp.ones(3).requires_grad_()
    functional = utils(xp).functional_optim_map[getattr(xp.optim, name)]([given], **OPTIONS[name])
    optimizer = getattr(xp.optim, name)([read], **{"lr": functional.defaults["lr"], **OPTIONS[name]})
    for i in range(3):
        gradient = xp.arange(3.) - i
        functional.step([gradient])
        read.grad = gradient
        optimizer.step()
        functional.defaults["lr"] = optimizer.param_groups[0]["lr"] = 2 * functional.defaults["lr"]
    assert given.tolist() == read.tolist()
    assert given.grad is None
    assert functional.state[given].keys() == optimizer.state[read].keys()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_parameters_are_updated_one_by_one(xp, name):
    functional = utils(xp).as_functional_optim(getattr(xp.optim, name), lr=.1)
    a, b = xp.ones(2), xp.ones(3)
    functional.step_param(a, xp.ones(2))
    if name != "SGD":       # PyTorch raises IndexError for SGD without a gradient.
        functional.step_param(b, None)
    functional.step_param(b, xp.ones(3))
    assert a[0] < 1
    assert a[0] == b[0]


def test_other_classes_can_be_registered(xp):
    class Mine:
        def __init__(self, params, *, factor, _allow_empty_param_list=False):
            self.given = params, factor
    utils(xp).register_functional_optim("mine", Mine)
    assert utils(xp).as_functional_optim("mine", factor=2).given == ([], 2)
    with pytest.raises(ValueError, match="Optimizer LBFGS does not have a functional counterpart!"):
        utils(xp).as_functional_optim("LBFGS")


@pytest.mark.parametrize(("options", "text"), [({"lr": -1.0}, "Invalid learning rate: -1.0"),
                                               ({"betas": (0.5, 1.0)}, "Invalid beta parameter at index 1: 1.0"),
                                               ({"weight_decay": -2.0}, "Invalid weight_decay value: -2.0")])
def test_options_are_checked(xp, options, text):
    kind = utils(xp).functional_optim_map[xp.optim.Adam]
    with pytest.raises(ValueError, match=text):
        kind([xp.ones(1)], **options)
    with pytest.raises(ValueError, match="optimizer got an empty parameter list"):
        kind([])
    with pytest.raises(ValueError, match="Params length: 1. Gradients length: 0"):
        kind([xp.ones(1)]).step([])
