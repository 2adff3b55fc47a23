"""Tensors from numbers, sequences, arrays and buffers, and the functions that fill them."""
from __future__ import annotations

import numpy as np
import pytest
from bodies import Programs, words

pytestmark = pytest.mark.core

FROM_DATA = [
    lambda xp: xp.tensor(1),
    lambda xp: xp.tensor(1.5),
    lambda xp: xp.tensor(True),
    lambda xp: xp.tensor(1j),
    lambda xp: xp.tensor([]),
    lambda xp: xp.tensor([[]]),
    lambda xp: xp.tensor([[], []]),
    lambda xp: xp.tensor([1, 2.5]),
    lambda xp: xp.tensor([True, 2]),
    lambda xp: xp.tensor([True, 2.0]),
    lambda xp: xp.tensor([1, 2j]),
    lambda xp: xp.tensor(((1, 2), (3, 4))),
    lambda xp: xp.tensor(range(4)),
    lambda xp: xp.tensor([range(2), range(2)]),
    lambda xp: xp.tensor([[1, 2], [3]]),
    lambda xp: xp.tensor([[1, 2], 3]),
    lambda xp: xp.tensor([1, [2]]),
    lambda xp: xp.tensor([[[1], [2]], [[3]]]),
    lambda xp: xp.tensor("abc"),
    lambda xp: xp.tensor(["a"]),
    lambda xp: xp.tensor(None),
    lambda xp: xp.tensor([None]),
    lambda xp: xp.tensor([1, None]),
    lambda xp: xp.tensor({}),
    lambda xp: xp.tensor({1: 2}),
    lambda xp: xp.tensor({1, 2}),
    lambda xp: xp.tensor(object()),
    lambda xp: xp.tensor([object()]),
    lambda xp: xp.tensor(b"ab"),
    lambda xp: xp.tensor(),
    lambda xp: xp.tensor(1, 2),
    lambda xp: xp.tensor([1], foo=1),
    lambda xp: xp.tensor([1], dtype="float32"),
    lambda xp: xp.tensor([1], dtype=int),
    lambda xp: xp.tensor([1], dtype=float),
    lambda xp: xp.tensor([1], dtype=bool),
    lambda xp: xp.tensor([1], dtype=complex),
    lambda xp: xp.tensor(2 ** 63),
    lambda xp: xp.tensor(2 ** 63 - 1),
    lambda xp: xp.tensor(-2 ** 63),
    lambda xp: xp.tensor(-2 ** 63 - 1),
    lambda xp: xp.tensor(2 ** 64),
    lambda xp: xp.tensor([2 ** 63]),
    lambda xp: xp.tensor([2 ** 64]),
    lambda xp: xp.tensor(2 ** 63, dtype=xp.uint64),
    lambda xp: xp.tensor(2 ** 64 - 1, dtype=xp.uint64),
    lambda xp: xp.tensor([2 ** 64 - 1], dtype=xp.uint64),
    lambda xp: xp.tensor(2 ** 64, dtype=xp.uint64),
    lambda xp: xp.tensor(-1, dtype=xp.uint64),
    lambda xp: xp.tensor(256, dtype=xp.uint8),
    lambda xp: xp.tensor([300], dtype=xp.uint8),
    lambda xp: xp.tensor(-1, dtype=xp.uint8),
    lambda xp: xp.tensor(128, dtype=xp.int8),
    lambda xp: xp.tensor([-129], dtype=xp.int8),
    lambda xp: xp.tensor(2 ** 31, dtype=xp.int32),
    lambda xp: xp.tensor(1.7, dtype=xp.int64),
    lambda xp: xp.tensor([1.7, -1.7], dtype=xp.int32),
    lambda xp: xp.tensor([1e10], dtype=xp.float16),
    lambda xp: xp.tensor(1e39),
    lambda xp: xp.tensor(1e39, dtype=xp.float32),
    lambda xp: xp.tensor(float("inf"), dtype=xp.float32),
    lambda xp: xp.tensor(float("nan"), dtype=xp.int64),
    lambda xp: xp.tensor(float("inf"), dtype=xp.int64),
    lambda xp: xp.tensor(1e20, dtype=xp.int64),
    lambda xp: xp.tensor(1j, dtype=xp.float32),
    lambda xp: xp.tensor([1j], dtype=xp.float32),
    lambda xp: xp.tensor(1 + 0j, dtype=xp.int64),
    lambda xp: xp.tensor(2, dtype=xp.bool),
    lambda xp: xp.tensor([0, 3], dtype=xp.bool),
    lambda xp: xp.tensor(1.0, dtype=xp.bfloat16),
    lambda xp: xp.tensor([1.0, 3.14159], dtype=xp.bfloat16),
    lambda xp: xp.tensor(np.float32(1.5)),
    lambda xp: xp.tensor(np.float64(1.5)),
    lambda xp: xp.tensor(np.int32(1)),
    lambda xp: xp.tensor(np.bool_(True)),
    lambda xp: xp.tensor([np.float64(1.5), np.float64(2)]),
    lambda xp: xp.tensor([np.int32(1), np.int32(2)]),
    lambda xp: xp.tensor([np.float32(1.5)]),
    lambda xp: xp.tensor(np.arange(3)),
    lambda xp: xp.tensor(np.arange(3, dtype=np.int8)),
    lambda xp: xp.tensor(np.arange(3)[::-1]),
    lambda xp: xp.tensor(np.array(1.5)),
    lambda xp: xp.tensor(np.array(["a"])),
    lambda xp: xp.tensor(np.array([object()])),
    lambda xp: xp.tensor(np.arange(3), dtype=xp.float32),
    lambda xp: xp.tensor(np.arange(3).astype(">f8")),
    lambda xp: xp.tensor(np.zeros((), ">f8")),
    lambda xp: xp.tensor(np.arange(3).astype(">f8"), dtype=xp.float32),
    lambda xp: xp.tensor(np.array(["ab"]).astype(">U2")),
    lambda xp: xp.tensor([np.arange(3), np.arange(3)]),
    lambda xp: xp.tensor([np.arange(3).astype(">f8")]),
    lambda xp: xp.tensor([np.array(["a", "b"])]),
    lambda xp: xp.tensor([np.str_("a")]),
    lambda xp: xp.tensor([np.array(3.)]),
    lambda xp: xp.tensor([2., np.array(3.)]),
    lambda xp: xp.tensor([xp.tensor(1), xp.tensor(2)]),
    lambda xp: xp.tensor([xp.tensor([1]), xp.tensor([2])]),
    lambda xp: xp.tensor([xp.tensor([1, 2]), xp.tensor([3, 4])]),
    lambda xp: xp.tensor([xp.tensor(1.5), 2]),
    lambda xp: xp.tensor([xp.tensor(1.5, dtype=xp.float64), xp.tensor(2., dtype=xp.float64)]),
    lambda xp: xp.tensor(xp.tensor([1, 2])),
    lambda xp: xp.tensor(xp.tensor([1., 2.], requires_grad=True)),
    lambda xp: xp.tensor([1], requires_grad=True),
    lambda xp: xp.tensor([1.], requires_grad=True),
    lambda xp: xp.tensor([1j], requires_grad=True),
    lambda xp: xp.tensor([True], requires_grad=True),
    lambda xp: xp.tensor([1.], device="cpu"),
    lambda xp: xp.tensor([1.], device="nope"),
    lambda xp: xp.tensor([1.], device="cpu", pin_memory=False),
]


def test_from_data(same):
    same(*FROM_DATA)


SHARED = [
    lambda xp: xp.as_tensor([1, 2]),
    lambda xp: xp.as_tensor(1.5),
    lambda xp: xp.as_tensor(np.arange(3)),
    lambda xp: xp.as_tensor(np.arange(3), dtype=xp.float32),
    lambda xp: xp.as_tensor(xp.ones(3), dtype=xp.int64),
    lambda xp: xp.as_tensor("a"),
    lambda xp: xp.asarray([1, 2]),
    lambda xp: xp.asarray([1, 2], dtype=xp.float32),
    lambda xp: xp.asarray(np.arange(3)),
    lambda xp: xp.asarray([1], copy=False),
    lambda xp: xp.asarray(xp.ones(2), dtype=xp.int64, copy=False),
    lambda xp: xp.asarray(np.ones(2), dtype=xp.int64, copy=False),
    lambda xp: xp.asarray([1.], requires_grad=True),
    lambda xp: xp.asarray([1], requires_grad=True),
    lambda xp: xp.asarray(bytearray(b"\x00\x00\x80\x3f"), dtype=xp.float32),
    lambda xp: xp.asarray(1.5),
    lambda xp: xp.asarray(np.float64(1.5)),
    lambda xp: xp.asarray(xp.ones(2, requires_grad=True), requires_grad=True),
    lambda xp: xp.asarray(None),
    lambda xp: xp.from_numpy(np.arange(3)),
    lambda xp: xp.from_numpy(np.arange(6).reshape(2, 3).T),
    lambda xp: xp.from_numpy([1]),
    lambda xp: xp.from_numpy(np.array(3)),
    lambda xp: xp.from_numpy(np.arange(3)[::-1]),
    lambda xp: xp.from_numpy(np.array(["a"])),
    lambda xp: xp.from_numpy(np.array([object()])),
    lambda xp: xp.from_numpy(np.zeros(2, np.uint16)),
    lambda xp: xp.from_numpy(np.zeros(2, np.complex64)),
    lambda xp: xp.from_numpy(np.zeros(2, np.float16)),
    lambda xp: xp.from_numpy(np.zeros(2, np.longdouble)),
    lambda xp: xp.from_numpy(np.zeros(2, ">f4")),
    lambda xp: xp.from_numpy(np.zeros(2, "M8[s]")),
    lambda xp: xp.from_numpy(np.float64(3)),
    lambda xp: xp.frombuffer(bytearray(8), dtype=xp.float32),
    lambda xp: xp.frombuffer(bytearray(8), dtype=xp.uint8, count=3),
    lambda xp: xp.frombuffer(bytearray(range(8)), dtype=xp.uint8, offset=3),
    lambda xp: xp.frombuffer(bytearray(8), dtype=xp.uint8, count=3, offset=9),
    lambda xp: xp.frombuffer(bytearray(8), dtype=xp.uint8, count=9),
    lambda xp: xp.frombuffer(bytearray(7), dtype=xp.float32),
    lambda xp: xp.frombuffer(bytearray(0), dtype=xp.float32),
    lambda xp: xp.frombuffer(bytearray(8), dtype=xp.float32, requires_grad=True),
    lambda xp: xp.frombuffer(bytearray(8), dtype=xp.int32, requires_grad=True),
    lambda xp: xp.frombuffer(bytearray(8)),
    lambda xp: xp.frombuffer(b"12345678", dtype=xp.uint8),
    lambda xp: xp.frombuffer([1], dtype=xp.uint8),
    lambda xp: xp.frombuffer(bytearray(8), dtype=None),
    lambda xp: xp.frombuffer(np.arange(4.)[::2], dtype=xp.float64),
    lambda xp: xp.frombuffer(np.arange(4.).reshape(2, 2), dtype=xp.float64),
    lambda xp: xp.frombuffer(np.arange(4.).reshape(2, 2).T, dtype=xp.float64),
    lambda xp: xp.frombuffer(memoryview(bytearray(8))[::2], dtype=xp.uint8),
    lambda xp: xp.frombuffer(np.zeros((0, 3)), dtype=xp.float64),
    lambda xp: xp.frombuffer(np.array(["2020-01-01"], "M8[D]"), dtype=xp.int64),
]


def test_shared(same):
    same(*SHARED)


sharing = Programs()


@sharing
def as_tensor_of_a_tensor(xp):
    t = xp.ones(3)
    return xp.as_tensor(t) is t


@sharing
def as_tensor_of_an_array(xp):
    a = np.zeros(3)
    t = xp.as_tensor(a)
    t[0] = 5
    return a


@sharing
def as_tensor_of_another_dtype(xp):
    a = np.zeros(3)
    t = xp.as_tensor(a, dtype=xp.float32)
    t[0] = 5
    return a


@sharing
def asarray_of_an_array(xp):
    a = np.zeros(3)
    t = xp.asarray(a)
    t[0] = 5
    return a


@sharing
def asarray_copies(xp):
    a = np.zeros(3)
    t = xp.asarray(a, copy=True)
    t[0] = 5
    return a


@sharing
def asarray_of_a_tensor(xp):
    t = xp.ones(3)
    return xp.asarray(t) is t


@sharing
def asarray_copies_a_tensor(xp):
    t = xp.ones(3)
    u = xp.asarray(t, copy=True)
    return u.data_ptr() == t.data_ptr()


@sharing
def asarray_copies_no_tensor(xp):
    t = xp.ones(3)
    return xp.asarray(t, copy=False).data_ptr() == t.data_ptr()


@sharing
def from_a_read_only_array(xp):
    a = np.arange(3)
    a.flags.writeable = False
    return xp.from_numpy(a)


@sharing
def double_tensor_of_an_array(xp):
    a = np.zeros(3)
    t = xp.DoubleTensor(a)
    a[0] = 5
    return t


@sharing
def double_tensor_of_a_transpose(xp):
    a = np.zeros((2, 3)).T
    t = xp.DoubleTensor(a)
    a[0] = 5
    return t, t.stride()


@sharing
def tensor_of_a_float64_array(xp):
    a = np.zeros(3)
    t = xp.Tensor(a)
    a[0] = 5
    return t


@sharing
def tensor_of_a_float32_array(xp):
    a = np.zeros(3, np.float32)
    t = xp.Tensor(a)
    a[0] = 5
    return t


@sharing
def new_of_a_float32_array(xp):
    a = np.zeros(3, np.float32)
    t = xp.ones(1).new(a)
    a[0] = 5
    return t


@sharing
def long_tensor_of_an_array(xp):
    a = np.zeros(3, np.int64)
    t = xp.LongTensor(a)
    a[0] = 5
    return t


@pytest.mark.parametrize("program", sharing, ids=words)
def test_memory_that_is_shared(same, program):
    same(program)


FILLED = [
    lambda xp: xp.zeros(3),
    lambda xp: xp.zeros(2, 3),
    lambda xp: xp.zeros((2, 3)),
    lambda xp: xp.zeros([2, 3]),
    lambda xp: xp.zeros(()),
    lambda xp: xp.zeros(0),
    lambda xp: xp.zeros(2, 0),
    lambda xp: xp.zeros(size=(2, 3)),
    lambda xp: xp.zeros(xp.Size([2, 3])),
    lambda xp: xp.zeros(-1),
    lambda xp: xp.zeros(2, -3),
    lambda xp: xp.zeros("a"),
    lambda xp: xp.zeros(2.5),
    lambda xp: xp.zeros((2, 2.5)),
    lambda xp: xp.zeros(None),
    lambda xp: xp.zeros(xp.tensor(2)),
    lambda xp: xp.zeros(np.int64(2)),
    lambda xp: xp.zeros(3, dtype=xp.int64, requires_grad=True),
    lambda xp: xp.zeros(3, requires_grad=True),
    lambda xp: xp.ones(3, dtype=int),
    lambda xp: xp.ones(3, dtype=xp.bool),
    lambda xp: xp.ones(2, 3, dtype=xp.complex64),
    lambda xp: xp.empty(0),
    lambda xp: xp.empty(2, 3).shape,
    lambda xp: xp.empty_strided((2, 3), (1, 2)).stride(),
    lambda xp: xp.full((2,), 3),
    lambda xp: xp.full((2,), 3.),
    lambda xp: xp.full((2,), True),
    lambda xp: xp.full((2,), 1j),
    lambda xp: xp.full((2,), 3, dtype=xp.float32),
    lambda xp: xp.full((2,), 3.7, dtype=xp.int32),
    lambda xp: xp.full(2, 3),
    lambda xp: xp.full((2,), xp.tensor(3.)),
    lambda xp: xp.full((2,), "a"),
    lambda xp: xp.full((2,), 3, requires_grad=True),
    lambda xp: xp.full((2,), fill_value=1),
    lambda xp: xp.full(size=(2,), fill_value=1),
    lambda xp: xp.ones(2).new_zeros(3),
    lambda xp: xp.ones(2).new_zeros(3, 2),
    lambda xp: xp.ones(2).new_zeros((3, 2)),
    lambda xp: xp.ones(2).new_full((2,), 3),
    lambda xp: xp.ones(2).new_tensor([1, 2]),
    lambda xp: xp.ones(2).new_tensor([1, 2], dtype=xp.int32),
    lambda xp: xp.ones(2).new_tensor([1, 2], requires_grad=True),
    lambda xp: xp.ones(2).new_zeros(3, requires_grad=True),
    lambda xp: xp.ones(2, dtype=xp.float64).new_zeros(3),
    lambda xp: xp.ones(2).new_empty_strided((2, 3), (1, 2)).stride(),
    lambda xp: xp.ones(2).new(),
    lambda xp: xp.ones(2).new(3).shape,
    lambda xp: xp.ones(2).new([1, 2]),
    lambda xp: xp.zeros(2, out=xp.ones(2)),
    lambda xp: xp.zeros(2, names=None),
    lambda xp: xp.zeros(2, foo=1),
    lambda xp: xp.ones(2, dtype=xp.float32, device="cpu", layout=xp.strided),
]


def test_filled(same):
    same(*FILLED)


LIKE_ANOTHER = [
    lambda xp: xp.ones_like(xp.arange(3)),
    lambda xp: xp.ones_like(xp.arange(3), dtype=xp.float64),
    lambda xp: xp.full_like(xp.arange(3), 2.5),
    lambda xp: xp.full_like(xp.arange(3), 2.5, dtype=xp.float32),
    lambda xp: xp.full_like(xp.ones(3), 2),
    lambda xp: xp.empty_like(xp.ones(2, 3)[:, ::2]).stride(),
    lambda xp: xp.empty_like(xp.ones(1, 3).expand(2, 3)).stride(),
    lambda xp: xp.zeros_like([1]),
    lambda xp: xp.zeros_like(xp.ones(2), requires_grad=True),
    lambda xp: xp.zeros_like(xp.ones(2, requires_grad=True)),
    lambda xp: xp.rand_like(xp.ones(2, 3)).shape,
    lambda xp: xp.arange(2).new_ones(3),
    lambda xp: xp.arange(2).new_full((2,), 3),
    lambda xp: xp.arange(2).new_full((2,), 3.5),
    lambda xp: xp.arange(2).new_empty(0),
    lambda xp: xp.arange(2).new_tensor([1.5]),
]


def test_like_another(same):
    same(*LIKE_ANOTHER)


RANGES_AND_OTHERS = [
    lambda xp: xp.arange(5),
    lambda xp: xp.arange(5.),
    lambda xp: xp.arange(1, 5),
    lambda xp: xp.arange(1, 5, 2),
    lambda xp: xp.arange(5, 1, -1),
    lambda xp: xp.arange(0, 1, 0.25),
    lambda xp: xp.arange(0, 1, 0.3),
    lambda xp: xp.arange(1, 5, 0),
    lambda xp: xp.arange(5, 1),
    lambda xp: xp.arange(1, 5, -1),
    lambda xp: xp.arange(0),
    lambda xp: xp.arange(3, dtype=xp.float64),
    lambda xp: xp.arange(3, dtype=xp.uint8),
    lambda xp: xp.arange(2.5),
    lambda xp: xp.arange(-3, 3),
    lambda xp: xp.arange(start=1, end=4),
    lambda xp: xp.arange(end=4),
    lambda xp: xp.arange(1, 4, step=2),
    lambda xp: xp.arange(xp.tensor(3)),
    lambda xp: xp.arange(xp.tensor(3.)),
    lambda xp: xp.arange(float("inf")),
    lambda xp: xp.arange(float("nan")),
    lambda xp: xp.arange(3, requires_grad=True),
    lambda xp: xp.arange(3., requires_grad=True),
    lambda xp: xp.arange(True),
    lambda xp: xp.arange(2 ** 40, 2 ** 40 + 2),
    lambda xp: xp.linspace(0, 1, 5),
    lambda xp: xp.linspace(0, 1, steps=3),
    lambda xp: xp.linspace(0, 10, 5, dtype=xp.int64),
    lambda xp: xp.linspace(0, 1, 1),
    lambda xp: xp.linspace(0, 1, 0),
    lambda xp: xp.linspace(0, 1, -1),
    lambda xp: xp.linspace(0, 1),
    lambda xp: xp.linspace(0, 1j, 3),
    lambda xp: xp.linspace(1, 0, 4),
    lambda xp: xp.linspace(xp.tensor(0.), xp.tensor(1.), 3),
    lambda xp: xp.logspace(0, 2, 3),
    lambda xp: xp.logspace(0, 2, 3, base=2),
    lambda xp: xp.eye(3),
    lambda xp: xp.eye(2, 3),
    lambda xp: xp.eye(2, dtype=xp.int64),
    lambda xp: xp.eye(-1),
    lambda xp: xp.eye(0),
    lambda xp: xp.scalar_tensor(3),
    lambda xp: xp.scalar_tensor(3, dtype=xp.int64),
    lambda xp: xp.complex(xp.ones(2), xp.zeros(2)),
    lambda xp: xp.complex(xp.ones(2), xp.zeros(2, dtype=xp.float64)),
    lambda xp: xp.complex(xp.arange(2), xp.arange(2)),
    lambda xp: xp.polar(xp.ones(2), xp.zeros(2)),
    lambda xp: xp.Tensor(2, 3).shape,
    lambda xp: xp.Tensor([1, 2]),
    lambda xp: xp.Tensor(),
    lambda xp: xp.Tensor(xp.ones(2)),
    lambda xp: xp.Tensor(xp.zeros(5, 3).shape).shape,
    lambda xp: xp.FloatTensor(xp.zeros(5, 3).shape).shape,
    lambda xp: xp.LongTensor(xp.Size([])).shape,
    lambda xp: xp.ones(2).new(xp.zeros(5, 3).shape).shape,
    lambda xp: xp.FloatTensor(size=(2, 3)).shape,
    lambda xp: xp.Tensor(data=[2]),
    lambda xp: xp.FloatTensor((2, 3)),
    lambda xp: xp.FloatTensor(range(3)),
    lambda xp: xp.FloatTensor(np.int64(3)).shape,
    lambda xp: xp.Tensor(np.array(3)).shape,
    lambda xp: xp.Tensor(xp.tensor(2), 3).shape,
    lambda xp: xp.Tensor(xp.tensor(2)).shape,
    lambda xp: xp.FloatTensor(2.0),
    lambda xp: xp.FloatTensor(True),
    lambda xp: xp.FloatTensor(None),
    lambda xp: xp.FloatTensor("a"),
    lambda xp: xp.FloatTensor({1: 2}),
    lambda xp: xp.FloatTensor(xp.ones(2, dtype=xp.int32)),
    lambda xp: xp.ones(2).new(xp.ones(3, dtype=xp.bfloat16)),
    lambda xp: xp.Tensor(2, 3.5),
    lambda xp: xp.Tensor([2], 3),
    lambda xp: xp.Tensor(2, dtype=xp.int32),
    lambda xp: xp.Tensor(2, -3),
    lambda xp: xp.FloatTensor(2, device="meta"),
    lambda xp: xp.FloatTensor(xp.ones(2, requires_grad=True) * 2).requires_grad,
    lambda xp: xp.FloatTensor([1, 2]),
    lambda xp: xp.LongTensor([1, 2]),
    lambda xp: xp.LongTensor([1.5]),
    lambda xp: xp.BoolTensor([True]),
    lambda xp: xp.DoubleTensor(2).shape,
    lambda xp: xp.Tensor(2.5),
    lambda xp: xp.Tensor([1, 2]).dtype,
    lambda xp: xp.Tensor(np.float32(3)),
    lambda xp: xp.Tensor(np.float64(3)),
    lambda xp: xp.Tensor(np.bool_(True)),
    lambda xp: xp.Tensor(np.int64(3)).shape,
    lambda xp: xp.Tensor(np.array(3)).shape,
    lambda xp: xp.Tensor(None),
    lambda xp: xp.Tensor({}),
    lambda xp: xp.Tensor(range(3)),
    lambda xp: xp.Tensor(np.arange(3.)[::-1]),
    lambda xp: xp.nn.Parameter(xp.tensor([1])),
    lambda xp: xp.tril_indices(3, 3),
    lambda xp: xp.triu_indices(3, 3, 1),
    lambda xp: xp.arange(3, out=xp.zeros(3)),
    lambda xp: xp.cartesian_prod(xp.tensor([1, 2]), xp.tensor([3, 4])),
    lambda xp: xp.vander(xp.tensor([1, 2, 3])),
]


def test_ranges_and_others(same):
    same(*RANGES_AND_OTHERS)
