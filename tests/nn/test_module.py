"""Names, hooks and state of modules."""
from __future__ import annotations

import copy
import pickle

import pytest


def test_hooks_run_in_order(xp):
    layer, log = xp.nn.Linear(2, 2), []
    layer.register_forward_pre_hook(lambda m, a: log.append("pre"))
    layer.register_forward_hook(lambda m, a, o: log.append("post"))
    layer.register_full_backward_hook(lambda m, gi, go: log.append(("backward", tuple(gi[0].shape))))
    layer.register_full_backward_pre_hook(lambda m, go: log.append("before backward"))
    layer(xp.ones(1, 2, requires_grad=True)).sum().backward()
    assert log == ["pre", "post", "before backward", ("backward", (1, 2))]


def test_state_dict_round_trip(xp):
    a, b = xp.nn.Linear(3, 2), xp.nn.Linear(3, 2)
    assert repr(b.load_state_dict(a.state_dict())) == "<All keys matched successfully>"
    assert xp.equal(a.weight, b.weight)


def test_load_errors(xp):
    with pytest.raises(RuntimeError) as e:
        xp.nn.Linear(2, 3).load_state_dict({"weight": xp.zeros(3, 3), "x": xp.zeros(1)})
    assert str(e.value) == (
        'Error(s) in loading state_dict for Linear:\n\tMissing key(s) in state_dict: "bias". \n\tUnexpected key(s) in '
        'state_dict: "x". \n\tsize mismatch for weight: copying a param with shape torch.Size([3, 3]) from checkpoint, the '
        "shape in current model is torch.Size([3, 2]).")


def test_errors(xp):
    with pytest.raises(TypeError, match="cannot assign 'int' as parameter 'weight'"):
        xp.nn.Linear(2, 2).weight = 3
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'foo'"):
        xp.nn.Linear(2, 2).foo
    with pytest.raises(NotImplementedError, match='is missing the required "forward" function'):
        xp.nn.Module()(1)


def test_copies(xp):
    layer = xp.nn.Linear(2, 2)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert xp.equal(other.weight, layer.weight)
        assert other.weight is not layer.weight
    weight = layer.weight
    assert layer.double().weight is weight
    assert weight.dtype is xp.float64


def test_initial_weights(xp):
    t = xp.empty(6, 4)
    sums = [round(float(getattr(xp.nn.init, f)(t).abs().sum()), 3) for f in ("orthogonal_", "xavier_normal_")]
    assert sums == [8.657, 8.538]
