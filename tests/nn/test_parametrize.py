"""torch.nn.utils.parametrize and parametrizations against PyTorch, one body for both libraries."""
from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest


def symmetric(xp):
    class Symmetric(xp.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, a):
            return a.triu()
    return Symmetric()


def counting(xp):
    class Counting(xp.nn.Module):
        calls = 0

        def forward(self, x):
            self.calls += 1
            return x * 2
    return Counting()


def pair(xp):
    class Sum(xp.nn.Module):
        def forward(self, a, b):
            return a + b

        def right_inverse(self, x):
            return x / 2, x / 2
    return Sum()


def test_a_parameter_becomes_a_property(xp):
    p, m = xp.nn.utils.parametrize, xp.nn.Linear(3, 3)
    weight = m.weight
    assert p.register_parametrization(m, "weight", symmetric(xp)) is m
    assert xp.equal(m.weight, m.weight.T)
    assert m.parametrizations.weight.original is weight
    assert list(m.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert [n for n, _ in m.named_parameters()] == ["bias", "parametrizations.weight.original"]
    assert (p.is_parametrized(m), p.is_parametrized(m, "weight"), p.is_parametrized(m, "bias")) == (True, True, False)
    assert (type(m).__name__, isinstance(m, xp.nn.Linear), p.type_before_parametrizations(m)) == (
        "ParametrizedLinear", True, xp.nn.Linear)
    assert repr(m).splitlines()[0] == "ParametrizedLinear("
    m(xp.ones(1, 3)).sum().backward()
    assert weight.grad.tolist() == [[1.0, 2.0, 2.0], [0.0, 1.0, 2.0], [0.0, 0.0, 1.0]]


def test_assigning_goes_through_the_inverse(xp):
    m = xp.nn.utils.parametrize.register_parametrization(xp.nn.Linear(2, 2), "weight", symmetric(xp))
    original = m.parametrizations.weight.original
    m.weight = xp.tensor([[1.0, 2.0], [2.0, 3.0]])
    assert m.parametrizations.weight.original is original
    assert original.tolist() == [[1.0, 2.0], [0.0, 3.0]]
    assert m.weight.tolist() == [[1.0, 2.0], [2.0, 3.0]]
    other = xp.nn.utils.parametrize.register_parametrization(xp.nn.Linear(2, 2), "weight", counting(xp))
    with pytest.raises(RuntimeError, match="parametrization Counting does not implement right_inverse."):
        other.weight = xp.ones(2, 2)
    with pytest.raises(ValueError, match="The tensor returned by `right_inverse` has dtype torch.float64 while `original` has dtype"):
        m.weight = xp.ones(2, 2, dtype=xp.float64)


def test_several_tensors(xp):
    m = xp.nn.Linear(2, 1, bias=False)
    weight = m.weight.tolist()
    xp.nn.utils.parametrize.register_parametrization(m, "weight", pair(xp))
    assert list(m.state_dict()) == ["parametrizations.weight.original0", "parametrizations.weight.original1"]
    assert m.weight.tolist() == weight
    m.weight = xp.full((1, 2), 4.0)
    assert m.parametrizations.weight.original1.tolist() == [[2.0, 2.0]]
    with pytest.raises(ValueError, match="Cannot leave unparametrized"):
        xp.nn.utils.parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
    xp.nn.utils.parametrize.remove_parametrizations(m, "weight")
    assert (type(m), type(m.weight), m.weight.tolist()) == (xp.nn.Linear, xp.nn.Parameter, [[4.0, 4.0]])


def test_one_after_the_other(xp):
    p, m = xp.nn.utils.parametrize, xp.nn.Linear(2, 2, bias=False)
    xp.nn.init.ones_(m.weight)
    p.register_parametrization(m, "weight", symmetric(xp))
    p.register_parametrization(m, "weight", counting(xp))
    assert m.weight.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert len(m.parametrizations.weight) == 2
    p.remove_parametrizations(m, "weight")
    assert (type(m), m.weight.tolist(), hasattr(m, "parametrizations")) == (xp.nn.Linear, [[2.0, 2.0], [2.0, 2.0]], False)


def test_removing_without_keeping_the_value(xp):
    m = xp.nn.Linear(2, 1, bias=False)
    weight, before = m.weight, m.weight.tolist()
    xp.nn.utils.parametrize.register_parametrization(m, "weight", counting(xp))
    xp.nn.utils.parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
    assert m.weight is weight
    assert weight.tolist() == before


def test_cached(xp):
    p, m, c = xp.nn.utils.parametrize, xp.nn.Linear(2, 2), counting(xp)
    p.register_parametrization(m, "weight", c)
    c.calls = 0
    with p.cached():
        assert m.weight is m.weight
        m(xp.ones(2))
    assert c.calls == 1
    m.weight, m.weight
    assert c.calls == 3


def test_buffers_copies_and_pickles(xp):
    p, m = xp.nn.utils.parametrize, xp.nn.Module()
    m.register_buffer("b", xp.ones(2))
    p.register_parametrization(m, "b", counting(xp))
    assert m.b.tolist() == [2.0, 2.0]
    assert [n for n, _ in m.named_buffers()] == ["parametrizations.b.original"]
    twin = copy.deepcopy(m)
    twin.parametrizations.b.original.fill_(5)
    assert (twin.b.tolist(), m.b.tolist()) == ([10.0, 10.0], [2.0, 2.0])
    with pytest.raises(RuntimeError, match="Serialization of parametrized modules is only supported through state_dict"):
        pickle.dumps(m)


def test_state_dicts_of_parametrized_modules(xp):
    a, b = (xp.nn.utils.parametrize.register_parametrization(xp.nn.Linear(2, 2), "weight", symmetric(xp)) for _ in range(2))
    b.load_state_dict(a.state_dict())
    assert xp.equal(a.weight, b.weight)


def test_transfer(xp):
    p = xp.nn.utils.parametrize
    a = p.register_parametrization(xp.nn.Linear(2, 2), "weight", symmetric(xp))
    b = p.transfer_parametrizations_and_params(a, xp.nn.Linear(2, 2))
    assert xp.equal(a.weight, b.weight)


WRONG = {
    "no such name": ("nothing", lambda xp: counting(xp)),
    "shape": ("weight", lambda xp: function(xp, lambda x: x[:1])),
    "dtype": ("weight", lambda xp: function(xp, lambda x: x.double())),
    "no tensor": ("weight", lambda xp: function(xp, lambda x: 3)),
    "inverse dtype": ("weight", lambda xp: function(xp, lambda x: x, lambda x: x.double())),
    "inverse kind": ("weight", lambda xp: function(xp, lambda x: x, lambda x: 3)),
    "inverse element": ("weight", lambda xp: function(xp, lambda x: x, lambda x: (x, 3))),
}


def function(xp, forward, inverse=None):
    m = xp.nn.Module()
    m.forward = forward
    if inverse is not None:
        m.right_inverse = inverse
    return m


@pytest.mark.conformance
@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("first", [True, False])
def test_errors(torch, case, first):
    import jtorch
    name, make = WRONG[case]

    def message(xp):
        m = xp.nn.Linear(2, 2)
        if not first and name == "weight":
            xp.nn.utils.parametrize.register_parametrization(m, "weight", symmetric(xp))
        with pytest.raises(Exception) as e:
            xp.nn.utils.parametrize.register_parametrization(m, name, make(xp))
        return type(e.value).__name__, str(e.value)
    assert message(jtorch) == message(torch)


# ---------------------------------------------------------------- parametrizations

MADE = """
orthogonal(nn.Linear(3, 3))
orthogonal(nn.Linear(4, 3))
orthogonal(nn.Linear(3, 4))
orthogonal(nn.Linear(3, 3), orthogonal_map='cayley')
orthogonal(nn.Linear(2, 4), orthogonal_map='matrix_exp')
orthogonal(nn.Linear(4, 3), use_trivialization=False)
orthogonal(nn.Linear(4, 2), orthogonal_map='cayley', use_trivialization=False)
spectral_norm(nn.Linear(3, 4))
spectral_norm(nn.Linear(3, 4), n_power_iterations=3, dim=1)
spectral_norm(nn.Conv2d(2, 3, 2))
spectral_norm(nn.Linear(3, 4), 'bias')
weight_norm(nn.Linear(3, 4))
weight_norm(nn.Conv1d(2, 3, 2), dim=1)
weight_norm(nn.Linear(3, 4), dim=None)
""".strip().splitlines()


def made(xp, source):
    """Return a parametrized module's state, weight and gradients, before and after an assignment."""
    xp.manual_seed(0)
    m = eval(source, {"nn": xp.nn, **vars(xp.nn.utils.parametrizations)})
    name = "bias" if "bias" in source else "weight"
    seen = [getattr(m, name).detach().numpy()]
    direction = xp.tensor(np.random.RandomState(0).randn(*seen[0].shape).astype("float32"))
    (getattr(m, name) * direction).sum().backward()
    seen += [p.grad.numpy() for p in m.parametrizations.parameters()]
    try:
        setattr(m, name, getattr(m, name).detach() if "orthogonal" in source else direction)
    except NotImplementedError as e:
        seen.append(str(e))
    seen += [getattr(m.eval(), name).detach().numpy(), *(v.numpy() for v in m.state_dict().values())]
    return list(m.state_dict()), repr(m), seen


@pytest.mark.conformance
@pytest.mark.parametrize("source", MADE)
def test_parametrizations(torch, source):
    import jtorch
    wanted, found = made(torch, source), made(jtorch, source)
    assert found[:2] == wanted[:2]
    for a, b in zip(found[2], wanted[2], strict=True):
        if isinstance(b, str):
            assert a == b
        else:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_what_parametrizations_promise(xp):
    p = xp.nn.utils.parametrizations
    w = p.orthogonal(xp.nn.Linear(5, 3)).weight
    assert xp.allclose(w @ w.T, xp.eye(3), atol=1e-5)
    m = p.spectral_norm(xp.nn.Linear(4, 3), n_power_iterations=30)
    assert abs(xp.linalg.matrix_norm(m.weight, 2).item() - 1) < 1e-4
    m = p.spectral_norm(xp.nn.Conv2d(2, 3, 2), n_power_iterations=30)
    assert [tuple(b.shape) for b in m.buffers()] == [(3,), (8,)]
    assert abs(xp.linalg.matrix_norm(m.weight.flatten(1), 2).item() - 1) < 1e-4
    m = p.weight_norm(xp.nn.Linear(4, 3))
    m.parametrizations.weight.original0.data.fill_(2)
    assert xp.allclose(m.weight.norm(dim=1), xp.full((3,), 2.0))


def test_old_keys_of_weight_norm_load(xp):
    m = xp.nn.utils.parametrizations.weight_norm(xp.nn.Linear(2, 1))
    m.load_state_dict({"weight_g": xp.tensor([[2.0]]), "weight_v": xp.tensor([[3.0, 0.0]]), "bias": xp.zeros(1)})
    assert m.weight.tolist() == [[2.0, 0.0]]


BAD = """
orthogonal(nn.Linear(2, 2), 'bias')
orthogonal(nn.Linear(2, 2), 'nothing')
orthogonal(nn.Linear(2, 2), orthogonal_map='x')
spectral_norm(nn.Linear(2, 2), n_power_iterations=0)
spectral_norm(nn.Linear(2, 2), dim=2)
spectral_norm(nn.Linear(2, 2), 'nothing')
""".strip().splitlines()


@pytest.mark.conformance
@pytest.mark.parametrize("source", BAD)
def test_parametrizations_errors(torch, source):
    import jtorch

    def message(xp):
        with pytest.raises(Exception) as e:
            eval(source, {"nn": xp.nn, **vars(xp.nn.utils.parametrizations)})
        return type(e.value).__name__, str(e.value)
    assert message(jtorch) == message(torch)
