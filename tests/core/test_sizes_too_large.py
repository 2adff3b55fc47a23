"""PyTorch's errors for tensors too large for any memory, raised at once."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.core

OVERFLOWS = [
    lambda xp: xp.empty(2**62),
    lambda xp: xp.zeros(2**62),
    lambda xp: xp.ones(2**31, 2**31, 4),
    lambda xp: xp.full((2**61,), 1.0),
    lambda xp: xp.rand(2**62),
    lambda xp: xp.randn(2**31, 2**31),
    lambda xp: xp.randint(3, (2**60,)),
    lambda xp: xp.randperm(2**62),
    lambda xp: xp.eye(2**31, 2**31),
    lambda xp: xp.eye(2**31),
    lambda xp: xp.arange(2**62),
    lambda xp: xp.arange(0.0, 2.0**62),
    lambda xp: xp.linspace(0, 1, 2**62),
    lambda xp: xp.tril_indices(2**31, 2**31),
    lambda xp: xp.hann_window(2**62),
    lambda xp: xp.ones(1).new_empty(2**62),
    lambda xp: xp.ones(1).repeat(2**62),
    lambda xp: xp.ones(2**40 // 2**20, 1).expand(2**20, 2**42) + 1,
    lambda xp: xp.nn.functional.pad(xp.ones(2), (2**62, 0)),
    lambda xp: xp.nn.functional.one_hot(xp.tensor([0]), 2**62),
    lambda xp: xp.nn.Linear(2**31, 2**31),
    lambda xp: xp.empty_strided((2,), (2**62,)),
    lambda xp: xp.Tensor(2**62),
]


@pytest.mark.parametrize("make", OVERFLOWS, ids=range(len(OVERFLOWS)))
def test_sizes_that_overflow(xp, make):
    with pytest.raises(RuntimeError, match=r"^Storage size calculation overflowed with sizes=\["):
        make(xp)


NO_ROOM = [
    lambda xp: xp.zeros(2**48),
    lambda xp: xp.rand(2**48),
    lambda xp: xp.arange(2**48),
    lambda xp: xp.nn.Linear(2**24, 2**24),
    lambda xp: xp.FloatTensor(2**48),
    lambda xp: xp.empty_strided((2,), (2**48,)),
    lambda xp: xp.bincount(xp.tensor([2**48])),
    lambda xp: xp.nn.functional.one_hot(xp.tensor([2**48])),
    lambda xp: xp.nn.functional.interpolate(xp.ones(1, 1, 2), size=2**48),
    lambda xp: xp.ones(2).resize_(2**48),
    lambda xp: xp.UntypedStorage(2**48),
]


@pytest.mark.parametrize("make", NO_ROOM, ids=range(len(NO_ROOM)))
def test_sizes_for_which_there_is_no_memory(xp, make, errors_at_the_call):
    with pytest.raises(RuntimeError, match="DefaultCPUAllocator: can't allocate memory: you tried to allocate"):
        make(xp)


def test_negative_sizes(xp):
    for make in (lambda: xp.empty_strided((-2,), (1,)), lambda: xp.randperm(-2), lambda: xp.ones(-2), lambda: xp.Tensor(-2)):
        with pytest.raises(RuntimeError, match="Trying to create tensor with negative dimension -2"):
            make()
    with pytest.raises(RuntimeError, match=r"Storage size calculation overflowed with sizes=\[2\] and strides=\[-1\]"):
        xp.empty_strided((2,), (-1,))
    with pytest.raises(RuntimeError, match="alloc_cpu.. seems to have been called with negative number: 18446744073709551615"):
        xp.UntypedStorage(-1)


def test_nothing_is_drawn_for_a_size_that_overflows(xp):
    xp.manual_seed(0)
    expected = xp.rand(3).tolist()
    xp.manual_seed(0)
    with pytest.raises(RuntimeError):
        xp.rand(2**62)
    assert xp.rand(3).tolist() == expected


def test_ranges(xp):
    with pytest.raises(RuntimeError, match="invalid size, possible overflow"):
        xp.arange(0, 1e30)
    for end in (float("nan"), float("inf")):
        with pytest.raises(RuntimeError, match=f"unsupported range: 0 -> {end}"):
            xp.arange(0, end, dtype=xp.int64)
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        xp.arange(0, 3, float("nan"))
    assert xp.arange(0, 1e300, 1e299, dtype=xp.float64).tolist() == [k * 1e299 for k in range(10)]
    assert xp.arange(0, 1e300, 1e300).tolist() == [0]
