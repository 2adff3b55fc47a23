"""Printed tensors, compared with PyTorch. The tensor is a stand-in: NumPy values and some attributes."""
from __future__ import annotations

import importlib
import math

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

from jtorch import _tensor_str as _print
from jtorch.device import device

dtypes = importlib.import_module("jtorch.dtype")     # The attribute jtorch.dtype is the class, not the module.

torch = pytest.importorskip("torch")

VALUE_DTYPES = ["float32", "float64", "float16", "int64", "int32", "uint8", "uint64", "bool", "complex64", "complex128"]


class Node:
    def __init__(self, name):
        self._name = name

    def name(self):
        return self._name


class Tensor:
    """The attributes that printing needs."""

    _is_parameter = False

    def __init__(self, values, dtype=None, where="cpu", grad_fn=None, requires_grad=False):
        self.values = values
        self.dtype = dtypes.named(dtype or values.dtype.name)
        self.shape, self.device = values.shape, device(where)
        self.grad_fn, self.requires_grad, self.is_leaf = grad_fn, requires_grad, grad_fn is None

    def _numpy_copy(self):
        return self.values.copy()

    def __str__(self):
        return _print.tensor_str(self)


class Parameter(Tensor):
    _is_parameter = True


class Special(Tensor):
    pass


class SpecialParameter(Parameter):
    pass


def like(t):
    """Return the stand-in for a torch tensor."""
    name = str(t.dtype).removeprefix("torch.")
    host = t.detach()
    if name == "bfloat16":
        values = host.to(torch.float32).numpy().astype(ml_dtypes.bfloat16)
    elif name.startswith("float8"):
        values = host.view(torch.uint8).numpy().view(getattr(ml_dtypes, name))
    else:
        values = host.numpy()
    grad_fn = None if t.grad_fn is None else Node(type(t.grad_fn).__name__)
    kind = Parameter if isinstance(t, torch.nn.Parameter) else Tensor
    return kind(values, name, grad_fn=grad_fn, requires_grad=t.requires_grad)


def check(t):
    assert _print.tensor_str(like(t)) == repr(t)


@pytest.fixture(autouse=True)
def default_options():
    yield
    for library in (torch, _print):
        library.set_printoptions(profile="default")


def set_options(**options):
    torch.set_printoptions(**options)
    _print.set_printoptions(**options)


CASES = [
    1.5, 2.0, 0.0, -0.0, math.nan, math.inf, 1e-5, 1e10, True, 7, -3, 1 + 2j, 1 - 2j, complex(0, math.nan),
    [1.0, 2.0], [1.0, 2.5], [1.0, 1000.0], [1.0, 1001.0], [1e-4, 1e-5], [9.9e7, 1e8, 1.1e8], [1e8], [0.0, 1e-4],
    [1e-3, 1.0],
    [math.nan, 1.0], [math.inf, -math.inf, 2.0], [math.inf, 0.5], [math.nan, math.inf], [math.nan, 1e10], [0.0, 0.0],
    [-1.0, 2.0], [123456.0, 2.0], [5e-324, 1.0], [1e308, 5e-324], [1.0 + 1e-3j, 1e5 - 2.5j],
    [complex(math.nan, -math.inf)],
    [True, False], [1, -100, 3], [], [[]], [[[]], [[]]], [[1, 2], [30, 4]], [[[1.0], [2.5]], [[3.0], [-4.0]]],
    [[[[1]]]],
]


@pytest.mark.parametrize("data", CASES, ids=str)
def test_cases(data):
    check(torch.tensor(data))
    check(torch.tensor(data, dtype=torch.complex128))


@pytest.mark.parametrize("name", [n for n in dtypes.ALL if n != "float8_e8m0fnu"])
def test_every_dtype(name):
    t = torch.tensor([[0.0, 1.0, 3.0], [1.0, 0.5, 100.0]]).to(getattr(torch, name))
    check(t)
    check(t[0, 1])
    check(t[:0])
    check(t[:0, 0])


def test_float8_e8m0fnu():
    check(torch.tensor([1.0, 0.5, 2.0**-60]).to(torch.float8_e8m0fnu))


@pytest.mark.parametrize("shape", [(1000,), (1001,), (7, 200), (3, 400), (2, 3, 400), (12, 12, 12), (6, 6, 6, 6),
                                   (1, 1, 2000), (40, 1, 40)])
@pytest.mark.parametrize("name", ["float32", "int64", "bool", "complex64"])
def test_summaries(shape, name):
    t = torch.randn(shape, generator=torch.Generator().manual_seed(0)) * 20
    check(t.to(getattr(torch, name)))


@pytest.mark.parametrize("options", [
    {"precision": 2}, {"precision": 0}, {"threshold": 5}, {"threshold": 5, "edgeitems": 1},
    {"threshold": 5, "edgeitems": 0},
    {"linewidth": 30}, {"linewidth": 1}, {"sci_mode": True}, {"sci_mode": False}, {"profile": "short"},
    {"profile": "full"},
    {"profile": "short", "edgeitems": 5}, {"profile": "unknown", "precision": 3}], ids=str)
def test_options(options):
    set_options(**options)
    assert _print.get_printoptions() == torch._tensor_str.get_printoptions()
    generator = torch.Generator().manual_seed(0)
    random = [torch.randn(shape, generator=generator) for shape in ((50,), (5, 9, 8), (11, 11))]
    for t in (*random, random[2] + 2j, torch.arange(30), torch.tensor(1.5), torch.ones(3), torch.zeros(2),
              torch.zeros(0, 2), torch.tensor([math.nan, 0.0])):
        check(t)


def test_printoptions_restores():
    before = _print.get_printoptions()
    with _print.printoptions(precision=1, sci_mode=True):
        assert str(Tensor(np.float32([1.25]))) == "tensor([1.2e+00])"
    assert _print.get_printoptions() == before


def test_history():
    x = torch.ones(3, requires_grad=True)
    check(x)
    check(x * 2)
    check((x * 2).sum())
    check(torch.ones(30, requires_grad=True) ** 2)
    check(torch.ones(26, requires_grad=True, dtype=torch.float64) ** 2)
    check(torch.zeros(0, 3, requires_grad=True) * 1)


def test_invalid_history():
    class Broken(Tensor):
        @property
        def grad_fn(self):
            raise RuntimeError("moved")

        @grad_fn.setter
        def grad_fn(self, value):
            pass

    Broken.__name__ = "Tensor"
    assert str(Broken(np.float32([1]))) == "tensor([1.], grad_fn=<Invalid>)"


def test_parameters_and_subclasses():
    check(torch.nn.Parameter(torch.ones(2, 2)))
    check(torch.nn.Parameter(torch.ones(2), requires_grad=False))
    check(torch.nn.Parameter(torch.zeros(0)))
    assert str(Special(np.float32([1]))) == "Special([1.])"
    assert str(SpecialParameter(np.float32([1, 1]), requires_grad=True)) == (
        "Parameter containing:\nParameter(SpecialParameter([1., 1.], requires_grad=True))")


def test_devices():
    values = np.float32([[1, 2]])
    assert str(Tensor(values, where="cuda:0")) == "tensor([[1., 2.]], device='cuda:0')"
    assert str(Tensor(values, where="meta")) == repr(torch.ones(1, 2, device="meta"))
    assert str(Tensor(values.astype(int), where="meta")) == repr(torch.ones(1, 2, device="meta", dtype=torch.int64))
    assert str(Tensor(values, where="xla:0", grad_fn=Node("MulBackward0"))) == (
        "tensor([[1., 2.]], device='xla:0', grad_fn=<MulBackward0>)")


@pytest.mark.parametrize("name", ["float64", "float16", "bfloat16"])
def test_default_dtype_has_no_suffix(name, monkeypatch):
    monkeypatch.setattr(dtypes._Default, "dtype", dtypes.named(name))
    torch.set_default_dtype(getattr(torch, name))
    try:
        for other in ("float32", "float64", "float16", "complex64", "complex128", "int64"):
            check(torch.ones(2, dtype=getattr(torch, other)))
            check(torch.ones(0, dtype=getattr(torch, other)))
    finally:
        torch.set_default_dtype(torch.float32)


def test_contents_can_be_replaced():
    ours = _print.tensor_str(Tensor(np.float32([1])), tensor_contents="...")
    assert ours == torch.ones(1).__repr__(tensor_contents="...")


@pytest.mark.parametrize(("data", "spec"), [(1.5, ".3f"), (1.5, ""), (3, ">5"), (True, ""), (1 + 2j, ".2f"),
                                            ([1.0, 2.0], "")])
def test_format(data, spec):
    t = torch.tensor(data)
    assert _print.tensor_format(like(t), spec) == format(t, spec)


def test_format_of_bfloat16_and_parameter():
    assert _print.tensor_format(like(torch.tensor(1.5, dtype=torch.bfloat16)), ".2f") == "1.50"
    parameter = torch.nn.Parameter(torch.tensor(1.0))
    assert _print.tensor_format(like(parameter), "") == format(parameter)


@pytest.mark.parametrize(("t", "spec"), [(torch.ones(2), ".2f"), (torch.nn.Parameter(torch.tensor(1.0)), ".2f"),
                                         (torch.tensor(1.5), "d")])
def test_format_errors(t, spec):
    with pytest.raises((TypeError, ValueError)) as theirs:
        format(t, spec)
    with pytest.raises(type(theirs.value), match="nsupported format string|Unknown format code") as ours:
        _print.tensor_format(like(t), spec)
    assert str(ours.value) == str(theirs.value)


SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


@settings(deadline=None, max_examples=150)
@given(data=st.data(), name=st.sampled_from(VALUE_DTYPES), precision=st.integers(0, 6), edgeitems=st.integers(0, 3),
       threshold=st.sampled_from([5, 20, 1000]), linewidth=st.sampled_from([20, 40, 80]),
       sci_mode=st.sampled_from([None, True, False]))
def test_any_tensor(data, name, **options):
    values = data.draw(hnp.arrays(name, SHAPES))
    set_options(**options)
    with np.errstate(all="ignore"):
        check(torch.from_numpy(values.copy()))
