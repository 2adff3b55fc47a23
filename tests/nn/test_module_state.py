"""State dicts of modules: saved entries, loaded entries, and errors of loading."""
from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import pytest


def net(xp):
    return xp.nn.Sequential(OrderedDict(first=xp.nn.Linear(2, 3), norm=xp.nn.BatchNorm1d(3), last=xp.nn.Linear(3, 1)))


def test_keys_and_metadata(xp):
    state = net(xp).state_dict(prefix="p.")
    assert list(state) == ["p.first.weight", "p.first.bias", "p.norm.weight", "p.norm.bias", "p.norm.running_mean",
                           "p.norm.running_var", "p.norm.num_batches_tracked", "p.last.weight", "p.last.bias"]
    assert dict(state._metadata) == {"p": {"version": 1}, "p.first": {"version": 1}, "p.norm": {"version": 2},
                                     "p.last": {"version": 1}}


def test_what_a_state_dict_shares(xp):
    layer = xp.nn.Linear(1, 1)
    state, kept = layer.state_dict(), layer.state_dict(keep_vars=True)
    assert kept["weight"] is layer.weight
    assert not state["weight"].requires_grad
    state["weight"].fill_(5)
    assert layer.weight.item() == 5.0


def test_positional_arguments_are_deprecated(xp):
    with pytest.warns(FutureWarning, match="Positional args are being deprecated, use kwargs instead"):
        state = xp.nn.Linear(1, 1).state_dict({}, "x.", True)
    assert list(state) == ["x.weight", "x.bias"]
    assert state["x.weight"].requires_grad


def message(fn):
    with pytest.raises(Exception) as e:
        fn()
    return type(e.value).__name__, str(e.value)


LOADS = {
    "missing": lambda xp: {"first.weight": xp.zeros(3, 2)},
    "unexpected": lambda xp: {**net(xp).state_dict(), "x": 1, "first.y": 2, "other.weight": 3, "first.weight.z": 1},
    "sizes": lambda xp: {**net(xp).state_dict(), "first.weight": xp.zeros(2, 3), "norm.running_mean": xp.zeros(2)},
    "no tensor": lambda xp: {**net(xp).state_dict(), "first.weight": [1.0]},
    "no dict": lambda xp: [1],
    "extra": lambda xp: {**net(xp).state_dict(), "first._extra_state": 1},
}


@pytest.mark.conformance
@pytest.mark.parametrize("case", LOADS)
def test_messages(torch, case):
    import jtorch
    wanted, found = (message(lambda: net(xp).load_state_dict(LOADS[case](xp))) for xp in (torch, jtorch))
    assert found == wanted


def test_not_strict(xp):
    m = net(xp)
    keys = m.load_state_dict({"first.bias": xp.ones(3), "x": 1}, strict=False)
    assert keys.unexpected_keys == ["x"]
    assert keys.missing_keys[:2] == ["first.weight", "norm.weight"]
    assert repr(keys).startswith("_IncompatibleKeys(missing_keys=['first.weight', 'norm.weight',")
    assert m.first.bias.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match="size mismatch for first.bias"):
        m.load_state_dict({"first.bias": xp.ones(4)}, strict=False)


def test_what_fits_is_loaded_before_the_error(xp):
    m = xp.nn.Linear(1, 1)
    with pytest.raises(RuntimeError, match="Missing key"):
        m.load_state_dict({"weight": xp.full((1, 1), 7.0)})
    assert m.weight.item() == 7.0


def test_loading_copies_and_casts(xp):
    m, given = xp.nn.Linear(1, 1), xp.full((1, 1), 3.0, dtype=xp.float64)
    weight = m.weight
    m.load_state_dict({"weight": given, "bias": xp.zeros(1)})
    assert m.weight is weight
    assert (m.weight.dtype, m.weight.item(), m.weight.requires_grad) == (xp.float32, 3.0, True)
    given.fill_(0)
    assert m.weight.item() == 3.0


def test_assign(xp):
    m, given = xp.nn.Linear(1, 1), xp.full((1, 1), 3.0, dtype=xp.float64)
    own = xp.nn.Parameter(xp.zeros(1), requires_grad=True)
    m.weight.requires_grad_(False)
    m.load_state_dict({"weight": given, "bias": own}, assign=True)
    assert m.bias is own
    assert (m.weight.dtype, m.weight.requires_grad, type(m.weight) is xp.nn.Parameter) == (xp.float64, False, True)
    given.fill_(4)
    assert m.weight.item() == 4.0
    norm = xp.nn.BatchNorm1d(1)
    mean = xp.ones(1)
    norm.load_state_dict({**norm.state_dict(), "running_mean": mean}, assign=True)
    assert norm.running_mean is mean


def test_one_element_for_a_scalar(xp):
    m = xp.nn.Module()
    m.a = xp.nn.Parameter(xp.tensor(1.0))
    m.load_state_dict({"a": xp.tensor([2.0])})
    assert m.a.item() == 2.0


def test_extra_state(xp):
    class Extra(xp.nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = None

        def get_extra_state(self):
            return {"n": 1}

        def set_extra_state(self, state):
            self.seen = state

    m = Extra()
    assert m.state_dict() == {"_extra_state": {"n": 1}}
    m.load_state_dict(m.state_dict())
    assert m.seen == {"n": 1}
    with pytest.raises(RuntimeError, match='Missing key\\(s\\) in state_dict: "_extra_state"'):
        m.load_state_dict({})
    with pytest.raises(RuntimeError, match="Reached a code path in Module.get_extra_state\\(\\) that should never be called"):
        xp.nn.Module().get_extra_state()
    with pytest.raises(RuntimeError, match="Reached a code path in Module.set_extra_state\\(\\) that should never be called"):
        xp.nn.Module().set_extra_state(1)


def test_a_version_is_seen_by_the_module_that_loads(xp):
    seen = []

    class New(xp.nn.Module):
        _version = 3

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            seen.append((prefix, local_metadata.get("version")))
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    m = xp.nn.Sequential(New())
    m.load_state_dict(m.state_dict())
    m.load_state_dict({})
    assert seen == [("0.", 3), ("0.", None)]


def test_non_persistent_buffers_stay_out(xp):
    m = xp.nn.Module()
    m.register_buffer("a", xp.ones(1))
    m.register_buffer("b", xp.ones(1), persistent=False)
    m.c = xp.nn.Buffer(xp.ones(1), persistent=False)
    assert list(m.state_dict()) == ["a"]
    assert [n for n, _ in m.named_buffers()] == ["a", "b", "c"]
    m.b = xp.zeros(1)
    assert list(m.state_dict()) == ["a"]
    m.register_buffer("b", m.b)
    assert list(m.state_dict()) == ["a", "b"]


def test_shared_parameters(xp):
    class Tied(xp.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = xp.nn.Linear(2, 2, bias=False), xp.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

    m = Tied()
    assert list(m.state_dict()) == ["a.weight", "b.weight"]
    assert [n for n, _ in m.named_parameters()] == ["a.weight"]
    assert [n for n, _ in m.named_parameters(remove_duplicate=False)] == ["a.weight", "b.weight"]
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(copy.deepcopy(m.a)))):
        assert len(list(other.parameters())) == 1
    assert copy.deepcopy(m).b.weight is not m.b.weight
    twin = copy.deepcopy(m)
    assert twin.a.weight is twin.b.weight
    m.double()
    assert m.a.weight is m.b.weight


def test_copies_keep_mode_gradient_flags_and_buffers(xp):
    m = net(xp).eval()
    m.first.weight.requires_grad_(False)
    m.norm.running_mean.fill_(2)
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert not other.training
        assert not other.norm.training
        assert [p.requires_grad for p in other.parameters()] == [False, *[True] * 5]
        assert other.norm.running_mean.tolist() == [2.0, 2.0, 2.0]
        other.norm.running_mean.fill_(0)
        assert m.norm.running_mean.tolist() == [2.0, 2.0, 2.0]
    shallow = copy.copy(m)
    assert shallow.first is m.first
