"""Classes and modes with ``__torch_function__`` see the same calls in the same order as with PyTorch."""
from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from libraries import HAS_TORCH, NO_TORCH, library

import jtorch
from jtorch._api.torch_function import NOT_OVERRIDDEN

pytestmark = pytest.mark.core


@pytest.fixture(params=["jtorch", pytest.param("torch", marks=pytest.mark.skipif(not HAS_TORCH, reason=NO_TORCH))])
def torch(request):
    return library(request.param)


def _logging(torch):
    class Logging(torch.Tensor):
        calls: list = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(func.__name__.strip("_"))
            return super().__torch_function__(func, types, args, kwargs)
    return Logging


class Foreign:
    """A class other than Tensor that handles every function."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, len(args), dict(kwargs or {})


def test_a_subclass_is_asked_wherever_it_stands(torch):
    Logging = _logging(torch)
    x, plain = torch.ones(2, 2).as_subclass(Logging), torch.ones(2, 2)
    for call, name in ((lambda: plain + x, {"add", "radd"}), (lambda: torch.cat([plain, x]), {"cat"}), (lambda: x.sum(), {"sum"}),
                       (lambda: torch.add(plain, x, alpha=2), {"add"}), (lambda: x[0], {"getitem"}),
                       (lambda: torch.where(plain > 0, x, plain), {"where"}), (lambda: torch.nn.functional.relu(x), {"relu"}),
                       (lambda: plain.mul_(x), {"mul"}), (lambda: torch.stack([x, x]), {"stack"})):
        Logging.calls.clear()
        made = call()
        assert type(made) is Logging or made is plain
        assert Logging.calls[0] in name


def test_operands_of_einsum_are_taken_out_of_their_list(torch):
    for call in (lambda f: torch.einsum("ij,jk->ik", (f, f)), lambda f: torch.einsum("ij,jk->ik", [f, f]),
                 lambda f: torch.einsum("ij,jk->ik", f, f)):
        assert call(Foreign()) == ("einsum", 3, {})


def test_results_are_of_the_subclass_and_have_its_history(torch):
    class Mine(torch.Tensor):
        pass

    p = torch.ones(3).as_subclass(Mine).requires_grad_()
    y = p * 2
    assert type(y) is Mine and type(y.split(1)[0]) is Mine and type(y.max(0).values) is Mine
    assert repr(y) == "Mine([2., 2., 2.], grad_fn=<AliasBackward0>)"
    y.sum().backward()
    assert type(p.grad) is torch.Tensor and p.grad.tolist() == [2, 2, 2]
    assert type(torch.nn.Parameter(torch.ones(2)) * 2) is torch.Tensor


def test_as_subclass_shares_memory_and_is_a_view(torch):
    class Mine(torch.Tensor):
        pass

    x = torch.ones(3, requires_grad=True) * 2
    y = x.as_subclass(Mine)
    assert y.grad_fn is not None and y._is_view()
    with torch.no_grad():
        y.add_(1)
    assert x.tolist() == [3, 3, 3] and x._version == y._version == 1


def test_what_is_no_tensor_takes_over(torch):
    f = Foreign()
    assert torch.relu(f) == ("relu", 1, {})
    assert torch.add(torch.ones(1), f, alpha=3) == ("add", 2, {"alpha": 3})
    assert torch.stack([f, f], dim=1) == ("stack", 1, {"dim": 1})
    assert torch.nn.functional.cross_entropy(f, f)[0] == "cross_entropy"
    assert torch.ones(2).mul_(f)[0] == "mul_"


def test_who_declines_is_passed_over(torch):
    class Declines:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.*'(?s:.*)Declines"):
        torch.add(torch.ones(1), Declines())
    assert torch.add(Declines(), Foreign())[0] == "add"


def test_disabling(torch):
    Logging = _logging(torch)
    x = torch.ones(2).as_subclass(Logging)
    with torch._C.DisableTorchFunctionSubclass():
        Logging.calls.clear()
        assert type(x + 1) is torch.Tensor
        assert Logging.calls == []

    class Without(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    assert type(torch.ones(2).as_subclass(Without) + 1) is torch.Tensor


def test_a_mode_sees_every_call_and_may_change_it(torch):
    class Doubled(torch.overrides.TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.seen.append(func.__name__.strip("_"))
            made = func(*args, **(kwargs or {}))
            return made * 2 if func is torch.relu else made

    from_before, code = torch.relu, getattr(torch.relu, "__code__", None)
    with Doubled() as mode:
        x = torch.zeros(2) + 1
        y = from_before(x)
        with Doubled() as inner:
            torch.sigmoid(x)
    assert y.tolist() == [2, 2]
    assert mode.seen[:3] == ["zeros", "add", "relu"] and "sigmoid" in mode.seen and inner.seen == ["sigmoid"]
    assert getattr(torch.relu, "__code__", None) is code and torch.relu(x).tolist() == [1, 1]


def test_a_mode_that_raises_is_left(torch):
    class Raising(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise RuntimeError("from the mode")

    with pytest.raises(RuntimeError, match="from the mode"), Raising():
        torch.ones(1)
    assert torch.ones(1).item() == 1


def test_wrapped_functions_ask(torch):
    @torch.overrides.wrap_torch_function(lambda a, b: (a, b))
    def both(a, b):
        return a + b

    assert both(torch.ones(1), torch.ones(1)).item() == 2
    assert both(torch.ones(1), Foreign()) == ("both", 2, {})
    assert torch.overrides.has_torch_function((1, Foreign())) and not torch.overrides.has_torch_function((torch.ones(1),))
    assert torch.overrides.resolve_name(torch.nn.functional.relu).startswith("torch.")


def test_metadata_tensor_of_the_documentation(torch):
    """The example of PyTorch's notes on extending: a tensor whose results keep its metadata."""
    class MetadataTensor:
        def __init__(self, data, metadata=None):
            self._t, self._metadata = torch.as_tensor(data), metadata

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            inner = [getattr(a, "_t", a) for a in args]
            assert len([a for a in args if hasattr(a, "_metadata")]) > 0
            return cls(func(*inner, **(kwargs or {})), metadata=next(a._metadata for a in args if hasattr(a, "_metadata")))

    made = torch.add(MetadataTensor([[1], [2]], "owner"), torch.tensor([[1, 2]]))
    assert made._metadata == "owner" and made._t.tolist() == [[2, 3], [3, 4]]
    np.testing.assert_array_equal(torch.mul(torch.tensor([2]), made)._t.numpy(), [[4, 6], [6, 8]])


def test_pickles_of_plain_tensors_stay(torch):
    x = torch.arange(3.0)
    assert pickle.loads(pickle.dumps(x)).tolist() == [0, 1, 2]


def test_plain_calls_do_not_look(monkeypatch):
    """Calls with plain tensors do not look for ``__torch_function__``."""
    from jtorch._api import torch_function
    monkeypatch.setattr(torch_function, "ask", None)
    x = jtorch.ones(2)
    assert (jtorch.relu(x) + x.mul(2)).tolist() == [3, 3]


def test_signatures_stay_where_functions_ask_first():
    import jtorch
    functions = [jtorch.clamp, jtorch.nn.functional.dropout, jtorch.Tensor.add_, jtorch.Tensor.backward]
    before = [inspect.signature(f) for f in functions]
    with jtorch.overrides.TorchFunctionMode():
        assert [inspect.signature(f) for f in functions] == before
    assert [inspect.signature(f) for f in functions] == before


def test_nobody_is_asked_where_arguments_are_tensors_and_parameters(monkeypatch):
    """The search for a handler costs as much as ten calls. It runs only if an argument's class may have one."""
    nn, asked = jtorch.nn, []
    scope = nn.functional.linear.__globals__
    monkeypatch.setitem(scope, "_overridden", lambda func, given: asked.append(func.__name__) or NOT_OVERRIDDEN)
    x, image = jtorch.ones(2, 4, 8), jtorch.ones(2, 4, 6, 6)
    for layer in (nn.Linear(8, 3), nn.LayerNorm(8), nn.RMSNorm(8), nn.LSTM(8, 3), nn.GRU(8, 3), nn.MultiheadAttention(8, 2),
                  nn.Bilinear(8, 8, 2), nn.TransformerEncoderLayer(8, 2, 16)):
        layer(*[x] * {nn.MultiheadAttention: 3, nn.Bilinear: 2}.get(type(layer), 1))
    for layer in (nn.Conv2d(4, 3, 3), nn.ConvTranspose2d(4, 3, 3), nn.BatchNorm2d(4), nn.GroupNorm(2, 4), nn.PReLU(4), nn.MaxPool2d(2),
                  nn.InstanceNorm2d(4, affine=True)):
        layer(image)
    nn.Embedding(5, 3)(jtorch.tensor([1, 2]))
    nn.functional.cross_entropy(x, jtorch.zeros(2, 8, dtype=jtorch.int64), nn.Parameter(jtorch.ones(4)))
    jtorch.addmm(nn.Parameter(jtorch.ones(3)), jtorch.ones(2, 8), nn.Parameter(jtorch.ones(8, 3)))
    jtorch.where(x > 0, nn.Parameter(x), 1.0).clamp(nn.Parameter(x), x)
    assert asked == []
