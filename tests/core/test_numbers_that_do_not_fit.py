"""Numbers that overflow in a call's dtype, and integers of more than 63 bits."""
from __future__ import annotations

import math

import pytest

pytestmark = pytest.mark.core

# Each case is called with (tensors of a dtype, number). The lists name the dtypes and numbers that overflow.
RESULT = [("int8", 300, "int8_t"), ("uint8", -300, "uint8_t"), ("float16", 1e5, "c10::Half"), ("bfloat16", 1e39, "c10::BFloat16"),
          ("float32", 1e39, "float"), ("complex64", 1e39j, "c10::complex<float>")]
WHOLE = [*RESULT, ("uint8", -1.0, "uint8_t"), ("int64", math.nan, "int64_t"), ("int32", 2.0 ** 31, "int"), ("int64", 2 ** 63, "int64_t")]
OPMATH = [("float16", 1e39, "float"), ("bfloat16", 1e39, "float"), ("float32", 1e39, "float")]
ONE = [("int8", 300, "int8_t"), ("uint8", -1.0, "uint8_t"), ("float32", 1e39, "float")]
REAL = [row for row in RESULT if row[0] != "complex64"]

CALLS = [
    (RESULT, lambda xp, x, n: xp.add(x, x, alpha=n)),
    (RESULT, lambda xp, x, n: x.add_(x, alpha=n)),
    (RESULT, lambda xp, x, n: xp.sub(x, x, alpha=n)),
    (RESULT, lambda xp, x, n: xp.rsub(x, x, alpha=n)),
    (RESULT, lambda xp, x, n: xp.add(x, x, alpha=n, out=xp.empty_like(x))),
    (RESULT, lambda xp, x, n: xp.addr(x[:, None] * x, x, x, alpha=n)),
    (WHOLE, lambda xp, x, n: xp.addmv(x, x[:, None] * x, x, beta=n)),
    (WHOLE, lambda xp, x, n: x.index_add(0, xp.tensor([0, 1]), x, alpha=n)),
    (WHOLE, lambda xp, x, n: x.masked_fill(xp.tensor([False, False]), n)),
    (WHOLE, lambda xp, x, n: x.masked_fill_(xp.tensor([True, False]), n)),
    (WHOLE, lambda xp, x, n: x.index_fill(0, xp.tensor([0]), n)),
    (WHOLE, lambda xp, x, n: x.scatter(0, xp.tensor([0]), n)),
    (WHOLE, lambda xp, x, n: x.fill_(n)),
    (WHOLE, lambda xp, x, n: xp.fill(x, n)),
    (WHOLE, lambda xp, x, n: xp.full((2,), n, dtype=x.dtype)),
    (WHOLE, lambda xp, x, n: xp.full((0,), n, dtype=x.dtype)),
    (WHOLE, lambda xp, x, n: xp.full_like(x, n)),
    (WHOLE, lambda xp, x, n: x.new_full((2,), n)),
    (WHOLE, lambda xp, x, n: (x[:, None] * x).fill_diagonal_(n)),
    (WHOLE, lambda xp, x, n: xp.linspace(0, n, 3, dtype=x.dtype)),
    (REAL, lambda xp, x, n: xp.nn.functional.pad(x, (1, 1), value=n)),
    (REAL, lambda xp, x, n: x.clamp(max=n)),
    (REAL, lambda xp, x, n: x.clamp_(n)),
    (REAL, lambda xp, x, n: xp.clamp_min(x, n)),
    (REAL, lambda xp, x, n: xp.nn.functional.threshold(x, 0, n)),
    (OPMATH, lambda xp, x, n: xp.addcmul(x, x, x, value=n)),
    (OPMATH, lambda xp, x, n: xp.addcdiv(x, x, x, value=n)),
    (OPMATH, lambda xp, x, n: xp.lerp(x, x, n)),
    (OPMATH, lambda xp, x, n: xp.addmm(x[:, None], x[:, None] * x, x[:, None], beta=n)),
    (OPMATH, lambda xp, x, n: xp.nn.functional.leaky_relu(x, n)),
    (OPMATH, lambda xp, x, n: xp.nn.functional.softplus(x, n)),
    (REAL[:4:2], lambda xp, x, n: x ** n),
    (ONE[::2], lambda xp, x, n: xp.where(x > 0, x, n)),
    (ONE, lambda xp, x, n: x.__setitem__(0, n)),
    (ONE, lambda xp, x, n: x.__setitem__([0], n)),
    (ONE, lambda xp, x, n: xp.scalar_tensor(n, dtype=x.dtype)),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_a_number_that_overflows_is_an_error(xp, call):
    rows, f = call
    for dtype, number, name in rows:
        x = xp.ones(2, dtype=getattr(xp, dtype))
        with pytest.raises(RuntimeError, match=rf"^value cannot be converted to type {name} without overflow"):
            f(xp, x, number)
        assert x.tolist() == [1, 1]


def test_numbers_that_fit(xp):
    half, byte, int8 = (xp.ones(2, dtype=getattr(xp, d)) for d in ("float16", "uint8", "int8"))
    mask = xp.tensor([True, False])
    assert byte.add(byte, alpha=-1).tolist() == [0, 0]
    assert byte.add(byte, alpha=-255).tolist() == [2, 2]
    assert int8.add(int8, alpha=-128).tolist() == [-127, -127]
    assert half.masked_fill(mask, -math.inf).tolist() == [-math.inf, 1]
    assert math.isnan(half.masked_fill(mask, math.nan)[0].item())
    assert half.add(half, alpha=-65504.0).tolist() == [-65504, -65504]
    assert int8.masked_fill(mask, 1.5).tolist() == [1, 1]
    assert xp.full((2,), 1j, dtype=xp.complex64).tolist() == [1j, 1j]
    assert xp.full((2,), 300, dtype=xp.bool).tolist() == [True, True]
    assert (int8 + 300).tolist() == [45, 45]
    assert (int8 * 0.5).tolist() == [0.5, 0.5]
    assert int8.clamp(max=300.0).dtype is xp.float32


def test_one_element_of_16_bits_takes_any_float(xp):
    x = xp.ones(2, dtype=xp.float16)
    x[0] = 1e5
    assert x.tolist() == [math.inf, 1]
    assert xp.full((1,), 1e5, dtype=xp.float16).tolist() == [math.inf]
    assert xp.linspace(0, 1e39, 1).tolist() == [0]


def test_errors_of_shapes_come_before_those_of_numbers(xp):
    with pytest.raises(RuntimeError, match=r"^The size of tensor a \(2\) must match the size of tensor b \(3\)"):
        xp.add(xp.ones(2, dtype=xp.int8), xp.ones(3, dtype=xp.int8), alpha=300)


def test_a_graph_is_as_it_was_after_the_error(xp):
    x = xp.ones(2, requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="cannot be converted to type float without overflow"):
        y.add_(y, alpha=1e39)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_integers_of_64_bits(xp):
    large = 2 ** 63
    assert (xp.ones(2) + large).tolist() == [2.0 ** 63] * 2
    assert (large - xp.ones(2)).tolist() == [2.0 ** 63] * 2
    assert (xp.ones(1, dtype=xp.int64) + large).tolist() == [1 - large]
    assert xp.ones(2).fill_(large).tolist() == [2.0 ** 63] * 2
    assert xp.full((2,), large, dtype=xp.uint64).tolist() == [large] * 2
    assert xp.full((2,), large, dtype=xp.float32).tolist() == [2.0 ** 63] * 2
    assert xp.ones(2).mul_(large).tolist() == [2.0 ** 63] * 2
    assert xp.ones(1, dtype=xp.int64).gt(large).tolist() == [True]
    x = xp.ones(2, requires_grad=True)
    (x * large).sum().backward()
    assert x.grad.tolist() == [2.0 ** 63] * 2


def test_an_element_takes_no_integer_of_64_bits(xp):
    for index in (0, [0], xp.tensor([True, False])):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            xp.ones(2, dtype=xp.int64)[index] = 2 ** 63


@pytest.mark.parametrize("f", [lambda x, n: x + n, lambda x, n: n - x, lambda x, n: x.mul_(n), lambda x, n: x > n,
                               lambda x, n: x.clamp(max=n)])
def test_integers_of_more_than_64_bits_are_errors(xp, f):
    with pytest.raises(OverflowError, match="int too big to convert"):
        f(xp.ones(2), 2 ** 64)
    with pytest.raises(OverflowError, match="can't convert negative int to unsigned"):
        f(xp.ones(2), -2 ** 64)
