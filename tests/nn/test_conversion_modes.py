"""torch.__future__: modules that swap or replace their parameters when they are converted or loaded; hooks by PyTorch's names."""
from __future__ import annotations

import pytest


@pytest.fixture
def ways(xp):
    yield xp.__future__
    xp.__future__.set_swap_module_params_on_conversion(False)
    xp.__future__.set_overwrite_module_params_on_conversion(False)


def converted(xp):
    m = xp.nn.Linear(2, 2)
    m(xp.ones(1, 2)).sum().backward()
    before, grad = m.weight, m.weight.grad
    del grad
    m.double()
    return m, before


def test_overwrite(xp, ways):
    m, before = converted(xp)
    assert m.weight is before and not ways.get_overwrite_module_params_on_conversion()
    ways.set_overwrite_module_params_on_conversion(True)
    m, before = converted(xp)
    assert m.weight is not before and m.weight.dtype is m.weight.grad.dtype is xp.float64 and before.dtype is xp.float32


def test_swap(xp, ways):
    ways.set_swap_module_params_on_conversion(True)
    m = xp.nn.Linear(2, 2)
    before = m.weight
    m.double()
    assert m.weight is before and before.dtype is xp.float64
    m.load_state_dict(xp.nn.Linear(2, 2).state_dict())
    assert m.weight is before and before.dtype is xp.float64
    held = [m.weight.view(-1), m.bias.view(-1)]
    with pytest.raises(RuntimeError, match="Couldn't swap Linear.weight"):
        m.half()
    del held


def test_global_hooks_by_name(xp):
    module = xp.nn.modules.module
    handle = module.register_module_forward_hook(lambda m, args, out: out + 1)
    assert list(module._global_forward_hooks) == [handle.id] and handle.hooks_dict_ref() is module._global_forward_hooks
    module._global_forward_hooks = type(module._global_forward_hooks)()
    m = xp.nn.Identity()
    assert m(xp.zeros(1)).item() == 0


def test_a_parameter_on_meta_is_not_filled(xp):
    m = xp.nn.Linear(1, 1, device="meta")
    with pytest.warns(UserWarning, match="copying from a non-meta parameter"):
        m.load_state_dict(xp.nn.Linear(1, 1).state_dict())
