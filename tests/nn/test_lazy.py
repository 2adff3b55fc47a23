"""Lazy modules: parameters without a shape until the first call, and their use before it."""
from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

CALLS = [("LazyLinear(3)", (2, 5)), ("LazyLinear(3, bias=False)", (5,)), ("LazyConv1d(4, 3)", (2, 3, 8)), ("LazyConv2d(4, 3, groups=2)", (2, 8, 8)),
         ("LazyConvTranspose2d(4, 3, stride=2)", (1, 3, 4, 4)), ("LazyBatchNorm1d()", (4, 3)), ("LazyBatchNorm2d(affine=False)", (2, 3, 4, 4)),
         ("LazyInstanceNorm1d()", (2, 3, 4)), ("LazyInstanceNorm2d(affine=False, track_running_stats=False)", (2, 3, 4, 4))]


def called(xp, source, shape):
    xp.manual_seed(0)
    module = eval(source, {**vars(xp.nn)})
    x = xp.tensor(np.random.default_rng(0).standard_normal(shape).astype("float32"))
    out = module(x)
    return module, [out.detach().numpy(), *(v.numpy() for v in module.state_dict().values())]


@pytest.mark.conformance
@pytest.mark.filterwarnings("ignore:input's size at dim=1")
@pytest.mark.parametrize(("source", "shape"), CALLS, ids=[s for s, _ in CALLS])
def test_first_call(torch, source, shape):
    import jtorch
    (theirs, expected), (ours, got) = (called(xp, source, shape) for xp in (torch, jtorch))
    assert type(ours).__name__ == type(theirs).__name__ == source.partition("(")[0].removeprefix("Lazy")
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert type(ours) is getattr(jtorch.nn, type(theirs).__name__)
    assert not ours._forward_pre_hooks
    assert not ours._load_state_dict_pre_hooks
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_uninitialized_parameters_have_no_shape(xp):
    weight = xp.nn.LazyLinear(3, dtype=xp.float64).weight
    assert repr(weight) == "<UninitializedParameter>"
    assert isinstance(weight, xp.nn.Parameter)
    assert xp.nn.parameter.is_lazy(weight)
    assert (weight.dtype, weight.device.type, weight.requires_grad, weight.is_leaf) == (xp.float64, "cpu", True, True)
    assert weight.size() == (0,)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"):
        weight.shape
    with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized parameter or buffer"):
        weight.share_memory_()
    for use in (lambda: weight + 1, weight.numel, weight.detach, lambda: xp.nn.functional.linear(xp.ones(2, 3), weight),
                lambda: xp.nn.init.ones_(weight), lambda: xp.stack([weight]), weight.dim):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
            use()


def test_materialize(xp):
    p, b = xp.nn.UninitializedParameter(requires_grad=False), xp.nn.UninitializedBuffer(dtype=xp.float64)
    before = id(p)
    p.materialize((2, 3))
    n = xp.nn.UninitializedBuffer()
    n.materialize(3)
    assert n.shape == (3,)
    b.materialize((4,), dtype=xp.float32)
    assert type(p) is xp.nn.Parameter
    assert (id(p), tuple(p.shape), p.requires_grad) == (before, (2, 3), False)
    assert type(b) is xp.Tensor
    assert (tuple(b.shape), b.dtype) == ((4,), xp.float32)
    assert tuple((p + 1).shape) == (2, 3)


def test_dtype_may_be_changed_before(xp):
    layer = xp.nn.Sequential(xp.nn.LazyLinear(3), xp.nn.LazyBatchNorm1d()).double()
    assert layer[0].weight.dtype is layer[1].running_mean.dtype is xp.float64
    assert layer[0].to(xp.float32).weight.dtype is xp.float32
    layer.float()(xp.ones(4, 2))
    assert layer[0].weight.dtype is xp.float32


def test_state_dicts(xp):
    lazy, full = xp.nn.LazyLinear(3), xp.nn.Linear(4, 3)
    state = lazy.state_dict()
    assert [repr(v) for v in state.values()] == ["<UninitializedParameter>"] * 2
    assert repr(xp.nn.LazyLinear(3).load_state_dict(state)) == "<All keys matched successfully>"
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        full.load_state_dict(state)
    lazy.load_state_dict(full.state_dict())
    assert xp.equal(lazy.weight, full.weight)
    assert isinstance(lazy, xp.nn.LazyLinear)
    x = xp.ones(1, 4)
    assert xp.equal(lazy(x), full(x))
    assert repr(lazy) == repr(full)


def test_state_dict_of_norm(xp):
    lazy, full = xp.nn.LazyBatchNorm2d(), xp.nn.BatchNorm2d(3)
    assert list(lazy.state_dict()) == list(full.state_dict())
    full.running_mean.fill_(2)
    lazy.load_state_dict(full.state_dict())
    assert lazy.running_mean.tolist() == [2, 2, 2]


def test_loaded_weight_must_fit(xp):
    lazy = xp.nn.LazyLinear(3)
    lazy.load_state_dict(xp.nn.Linear(4, 3).state_dict())
    with pytest.raises(AssertionError, match="The in_features inferred from input: 5 is not equal to in_features"):
        lazy(xp.ones(1, 5))


def test_copies(xp):
    lazy = xp.nn.LazyLinear(3, dtype=xp.float64)
    other = copy.deepcopy(lazy)
    assert other.weight is not lazy.weight
    assert other.weight.dtype is xp.float64
    assert repr(pickle.loads(pickle.dumps(lazy.weight))) == "<UninitializedParameter>"
    other(xp.ones(1, 2, dtype=xp.float64))
    assert xp.nn.parameter.is_lazy(lazy.weight)


def test_optimizer_may_hold_them(xp):
    xp.manual_seed(0)
    layer = xp.nn.LazyLinear(1)
    opt = xp.optim.SGD(layer.parameters(), lr=0.5)
    opt.zero_grad()
    layer(xp.ones(1, 2)).sum().backward()
    before = layer.weight.tolist()
    opt.step()
    assert layer.weight.tolist()[0] == pytest.approx([w - 0.5 for w in before[0]])


def test_own_lazy_module(xp):
    class Scale(xp.nn.modules.lazy.LazyModuleMixin, xp.nn.Module):
        cls_to_become = None

        def __init__(self):
            super().__init__()
            self.scale = xp.nn.UninitializedParameter()

        def initialize_parameters(self, x):
            self.scale.materialize(x.shape[-1:])
            xp.nn.init.constant_(self.scale, 3)

        def forward(self, x):
            return x * self.scale

    assert Scale()(xp.ones(2)).tolist() == [3, 3]

    class Forgets(Scale):
        def initialize_parameters(self, x):
            pass

    with pytest.raises(RuntimeError, match="module Forgets has not been fully initialized"):
        Forgets()(xp.ones(2))

    class Nothing(xp.nn.modules.lazy.LazyModuleMixin, xp.nn.Module):
        pass

    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for Nothing"):
        Nothing()(1)


def test_saved_whole(xp):
    file = io.BytesIO()
    pickle.dump(xp.nn.LazyBatchNorm1d().state_dict(), file)
    file.seek(0)
    assert [repr(v) for v in pickle.load(file).values()][2] == "<UninitializedBuffer>"
