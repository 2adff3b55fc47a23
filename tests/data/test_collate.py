"""default_collate and default_convert: values, types and errors as in PyTorch."""
from __future__ import annotations

from collections import OrderedDict, UserDict, UserList, namedtuple
from types import MappingProxyType

import numpy as np
import pytest

Point = namedtuple("Point", "x y")


class Tagged(list):
    """A list with an attribute."""

    tag = None


def described(value):
    """Return the part of a value that must be the same in both libraries."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, (dict, OrderedDict, UserDict, MappingProxyType)):
        return type(value).__name__, {k: described(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, UserList)):
        return type(value).__name__, [described(v) for v in value]
    return type(value).__name__, value


BATCHES = {
    "ints": lambda xp: [1, 2, 3],
    "floats": lambda xp: [1.5, 2.5],
    "bools": lambda xp: [True, False],
    "text": lambda xp: ["a", "b"],
    "bytes": lambda xp: [b"a", b"b"],
    "tensors": lambda xp: [xp.arange(6).reshape(2, 3), xp.ones(2, 3, dtype=xp.int64)],
    "scalars": lambda xp: [xp.tensor(1.0), xp.tensor(2.0)],
    "half": lambda xp: [xp.ones(2, dtype=xp.bfloat16), xp.zeros(2, dtype=xp.bfloat16)],
    "views": lambda xp: [xp.arange(12).reshape(3, 4)[i] for i in (2, 0, 1)],
    "elements": lambda xp: [xp.arange(12)[i] for i in (2, 0, 1)],
    "columns": lambda xp: [xp.arange(12).reshape(3, 4)[:, i] for i in (2, 0)],
    "overlapping": lambda xp: [xp.arange(12)[i:i + 3] for i in (1, 2)],
    "transposed": lambda xp: [xp.arange(6).reshape(2, 3).T, xp.arange(6).reshape(2, 3).T],
    "rows of a permuted array": lambda xp: [xp.tensor(np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2))[i, 1] for i in (2, 0)],
    "no elements": lambda xp: [xp.ones(2, 0), xp.ones(2, 0)],
    "shared": lambda xp: list(xp.from_numpy(np.arange(6.0).reshape(3, 2))),
    "arrays": lambda xp: [np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)],
    "0-dim arrays": lambda xp: [np.array(1), np.array(2)],
    "strided arrays": lambda xp: [np.arange(6)[::2], np.arange(6)[1::2]],
    "numpy scalars": lambda xp: [np.float32(1), np.float32(2)],
    "numpy bools": lambda xp: [np.bool_(True), np.bool_(False)],
    "tuples": lambda xp: [(1, 2.0), (3, 4.0)],
    "lists": lambda xp: [[1, "a"], [2, "b"]],
    "list like": lambda xp: [Tagged([1, 2]), Tagged([3, 4])],
    "user list": lambda xp: [UserList([1, 2]), UserList([3, 4])],
    "ranges": lambda xp: [range(2), range(2)],
    "dicts": lambda xp: [{"a": 1, "b": [1.0, 2.0]}, {"a": 2, "b": [3.0, 4.0]}],
    "ordered": lambda xp: [OrderedDict(b=1, a=2), OrderedDict(b=3, a=4)],
    "read-only": lambda xp: [MappingProxyType({"a": 1}), MappingProxyType({"a": 2})],
    "user dict": lambda xp: [UserDict(a=1), UserDict(a=2)],
    "named": lambda xp: [Point(1, 2.0), Point(3, 4.0)],
    "one": lambda xp: [(xp.ones(1),)],
}


@pytest.mark.parametrize("name", BATCHES)
def test_collate(same, name):
    same(lambda xp: described(xp.utils.data.default_collate(BATCHES[name](xp))))


@pytest.mark.parametrize("name", [n for n in BATCHES if n not in ("numpy scalars", "numpy bools")])
def test_convert(same, name):
    same(lambda xp: described(xp.utils.data.default_convert(BATCHES[name](xp))))


@pytest.mark.parametrize("data", [np.array(["a", "b"]), np.str_("x"), np.float64(2), np.array([1, "x"], object)], ids=str)
def test_convert_numpy(same, data):
    same(lambda xp: described(xp.utils.data.default_convert(data)))


@pytest.mark.parametrize("make", [
    lambda xp: [object(), object()],
    lambda xp: [None, None],
    lambda xp: [np.array(["a"]), np.array(["b"])],
    lambda xp: [xp.ones(2), xp.ones(3)],
    lambda xp: [np.ones(2), np.ones(3)],
    lambda xp: [np.arange(3)[::-1], np.arange(3)[::-1]],
    lambda xp: [[1, 2], [1]],
    lambda xp: [{"a": 1}, {"b": 1}],
], ids=["object", "None", "text array", "shapes", "array shapes", "negative strides", "lengths", "keys"])
def test_errors(same, make):
    def raised(xp):
        with pytest.raises(Exception) as error:
            xp.utils.data.default_collate(make(xp))
        return error.type.__name__, str(error.value).split(". ")[0].split("  ")[0]
    same(raised)


def test_extending(xp):
    module = xp.utils.data._utils.collate

    class Mine:
        pass
    module.default_collate_fn_map[Mine] = lambda batch, *, collate_fn_map=None: len(batch)
    try:
        assert xp.utils.data.default_collate([(Mine(), 1), (Mine(), 2)])[0] == 2
    finally:
        del module.default_collate_fn_map[Mine]
    assert module.collate(["a", "b"], collate_fn_map={str: lambda batch, *, collate_fn_map=None: "".join(batch)}) == "ab"


def test_gradients_flow_through_a_batch(xp):
    w = xp.ones(3, requires_grad=True)
    batch = xp.utils.data.default_collate([w * 2, w * 3])
    batch.sum().backward()
    assert w.grad.tolist() == [5.0, 5.0, 5.0]


def test_a_batch_shares_nothing(xp):
    x = xp.arange(4.0).reshape(2, 2)
    batch = xp.utils.data.default_collate([x[0], x[1]])
    x[0, 0] = 9
    assert batch.tolist() == [[0, 1], [2, 3]]
    batch += 1
    assert x.tolist() == [[9, 1], [2, 3]]
