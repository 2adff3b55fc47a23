"""torch.Size, torch.finfo and torch.iinfo, compared with PyTorch."""
from __future__ import annotations

import copy
import importlib
import pickle

import numpy as np
import pytest
from bodies import written

from jtorch._base.dtype_info import finfo, iinfo
from jtorch._base.size import Size, of

dtypes = importlib.import_module("jtorch.dtype")     # The attribute jtorch.dtype is the class, not the module.

torch = pytest.importorskip("torch")

CALLS = [
    lambda S: S(),
    lambda S: S([3]),
    lambda S: S((2, 3)),
    lambda S: S([True]),
    lambda S: S([2, 3])[0],
    lambda S: S([2, 3])[1:],
    lambda S: S([2, 3])[::-1],
    lambda S: S([2]) + S([3]),
    lambda S: S([2]) + (3,),
    lambda S: (3,) + S([2]),
    lambda S: S([2]) * 2,
    lambda S: 2 * S([2]),
    lambda S: S([2]) * -1,
    lambda S: S([2, 3]).numel(),
    lambda S: S([]).numel(),
    lambda S: S([2]) == (2,),
    lambda S: hash(S([2])) == hash((2,)),
    lambda S: S([np.int64(2)]),
    lambda S: S(x for x in [1, 2]),
    lambda S: S([-1]),
    lambda S: S(range(3)),
    lambda S: S([2]) < S([3]),
    lambda S: f'{S([2])}',
    lambda S: str(S([2, 3])),
    lambda S: S([2, 3]).count(2),
    lambda S: S([2, 3]).index(3),
    lambda S: len(S([2, 3])),
    lambda S: (lambda a, *b: b)(*S([1, 2, 3])),
    lambda S: S([2]) != (2,),
    lambda S: S(S([1, 2])),
    lambda S: S([1, 2])[np.int64(1)],
    lambda S: 2 in S([2]),
    lambda S: S([1.0]),
    lambda S: S(['a']),
    lambda S: S([1, None]),
    lambda S: S(3),
    lambda S: S([2]) + [3],
    lambda S: S([2]) + (1.5,),
    lambda S: S([2]) + ('a',),
    lambda S: S([2]) * 1.5,
    lambda S: ('a',) + S([2]),
    lambda S: (1.5,) + S([2]),
    lambda S: S([np.float32(2)]),
    lambda S: S([2]) + 5,
    lambda S: S([[1]]),
    lambda S: S(None),
    lambda S: S([1])[5],
]


def outcome(call, size):
    try:
        value = call(size)
    except Exception as error:
        return type(error), str(error)
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("call", CALLS, ids=written)
def test_like_pytorch(call):
    assert outcome(call, Size) == outcome(call, torch.Size)


def test_takes_integer_tensors():
    assert Size([torch.tensor(2)]) == (2,)
    with pytest.raises(TypeError, match=r"takes an iterable of 'int' \(item 0 is 'Tensor'\)"):
        Size([torch.tensor(2.0)])


def test_copies_and_pickles():
    size = Size([2, 3])
    for made in (pickle.loads(pickle.dumps(size)), copy.deepcopy(size), copy.copy(size), of((2, 3))):
        assert type(made) is Size
        assert made == (2, 3)


@pytest.mark.parametrize("name", dtypes.ALL)
@pytest.mark.parametrize("function", ["finfo", "iinfo"])
def test_limits(name, function):
    ours, theirs = {"finfo": finfo, "iinfo": iinfo}[function], getattr(torch, function)
    try:
        expected = theirs(getattr(torch, name))
    except TypeError as error:
        with pytest.raises(TypeError) as raised:
            ours(dtypes.named(name))
        assert str(raised.value) == str(error)
        return
    found = ours(dtypes.named(name))
    assert repr(found) == repr(expected)
    float_only = ("eps", "tiny", "smallest_normal", "resolution") * (function == "finfo")
    for attribute in ("bits", "max", "min", "dtype", *float_only):
        value = getattr(found, attribute)
        assert value == getattr(expected, attribute)
        assert type(value) is type(getattr(expected, attribute))


def test_limits_of_the_default_dtype(monkeypatch):
    assert repr(finfo()) == repr(torch.finfo())
    monkeypatch.setattr(dtypes._Default, "dtype", dtypes.float64)
    assert finfo() == finfo(dtypes.float64)


def test_limits_of_python_types():
    assert repr(finfo(float)) == repr(torch.finfo(float))
    assert repr(iinfo(int)) == repr(torch.iinfo(int))


@pytest.mark.parametrize("use", [
    lambda finfo, iinfo, d: iinfo(), lambda finfo, iinfo, d: finfo("float32"), lambda finfo, iinfo, d: finfo(None),
    lambda finfo, iinfo, d: hash(finfo(d.float32)), lambda finfo, iinfo, d: setattr(finfo(d.float32), "x", 1),
    lambda finfo, iinfo, d: pickle.dumps(finfo(d.float32))])
def test_limits_errors(use):
    with pytest.raises((TypeError, AttributeError)) as theirs:
        use(torch.finfo, torch.iinfo, torch)
    with pytest.raises(type(theirs.value)) as ours:
        use(finfo, iinfo, dtypes)
    assert str(ours.value).replace("'finfo'", "'torch.finfo'") == str(theirs.value)


def test_limits_compare():
    assert finfo(dtypes.float32) == finfo(dtypes.complex64)
    assert finfo(dtypes.float32) != finfo(dtypes.float64)
    assert finfo(dtypes.float32) != iinfo(dtypes.int64)
    assert torch.finfo(torch.float32) == torch.finfo(torch.complex64)
