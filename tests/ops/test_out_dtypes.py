"""Casts and refusals for the dtype of ``out=`` are PyTorch's, for every pair of dtypes."""
from __future__ import annotations

import pytest
from libraries import library

pytestmark = [pytest.mark.conformance, pytest.mark.filterwarnings("ignore")]
DTYPES = ["bool", "int32", "int64", "float16", "float32", "float64", "complex64"]
UNARY = "abs neg floor sgn round bitwise_not exp sqrt erf isposinf signbit nan_to_num diff fft.fft fft.ifft fft.hfft"
ALONG = "sum prod cumsum cumprod argmax amax any all softmax norm logcumsumexp"
CALLS = {
    **{name: lambda xp, x, out, name=name: function(xp, name)(x, out=out) for name in UNARY.split()},
    **{name: lambda xp, x, out, name=name: function(xp, name)(x, dim=0, out=out) for name in ALONG.split()},
    "add": lambda xp, x, out: xp.add(x, 2, out=out),
    "atan2": lambda xp, x, out: xp.atan2(x, x, out=out),
    "clamp by numbers": lambda xp, x, out: xp.clamp(x, 0, 1, out=out),
    "clamp by tensors": lambda xp, x, out: xp.clamp(x, x, x, out=out),
    "maximum": lambda xp, x, out: xp.max(x, x, out=out),
    "max along a dim": lambda xp, x, out: xp.max(x, 0, out=(out, xp.empty(0, dtype=xp.int64))),
    "its indices": lambda xp, x, out: xp.max(x, 0, out=(xp.empty(0, dtype=x.dtype), out)),
    "matmul": lambda xp, x, out: xp.matmul(x, x, out=out),
    "cat": lambda xp, x, out: xp.cat([x, x], out=out),
    "gather": lambda xp, x, out: xp.gather(x, 0, xp.zeros(1, dtype=xp.int64), out=out),
    "index_select": lambda xp, x, out: xp.index_select(x, 0, xp.tensor([0]), out=out),
    "masked_select": lambda xp, x, out: xp.masked_select(x, x == x, out=out),
    "nonzero": lambda xp, x, out: xp.nonzero(x, out=out),
    "where": lambda xp, x, out: xp.where(x == x, x, x, out=out),
    "sum in float32": lambda xp, x, out: xp.sum(x, 0, dtype=xp.float32, out=out),
    "zeros": lambda xp, x, out: xp.zeros(2, dtype=x.dtype, out=out),
    "full": lambda xp, x, out: xp.full((2,), 2.5, out=out),
    "arange": lambda xp, x, out: xp.arange(-1, 4, 2, out=out),
    "range": lambda xp, x, out: xp.range(1, 4, out=out),
    "diag": lambda xp, x, out: xp.diag(x, out=out),
    "matrix_power": lambda xp, x, out: xp.linalg.matrix_power(x.reshape(2, 2).float(), 2, out=out),
    "lu_factor": lambda xp, x, out: xp.linalg.lu_factor(x.reshape(2, 2).double(), out=(out, xp.empty(0, dtype=xp.int32))),
    "eigvals": lambda xp, x, out: xp.linalg.eigvals(x.reshape(2, 2).float(), out=out).real,
    **{name: lambda xp, x, out, name=name: function(xp, name)(x.float(), 0, out=(out, xp.empty(0, dtype=xp.int64)))
       for name in ("median", "nanmedian", "mode")},
    **{f"indices of {name}": lambda xp, x, out, name=name: function(xp, name)(x.float(), 0, out=(xp.empty(0), out))
       for name in ("median", "mode")},
    "kthvalue": lambda xp, x, out: xp.kthvalue(x, 2, 0, out=(out, xp.empty(0, dtype=xp.int64))),
    "indices of kthvalue": lambda xp, x, out: xp.kthvalue(xp.arange(4.0), 2, 0, out=(xp.empty(0), out))}
P = [0.0, 1.0, 0.5]
DRAWN = {
    "bernoulli": lambda xp, out: xp.bernoulli(xp.tensor(P), out=out),
    "bernoulli in double": lambda xp, out: xp.bernoulli(xp.tensor(P, dtype=xp.float64), out=out),
    "bernoulli of more than 1": lambda xp, out: xp.bernoulli(xp.tensor([2.0] * 3), out=out),
    "normal": lambda xp, out: xp.normal(xp.tensor(P), xp.tensor(P), out=out),
    "normal in double": lambda xp, out: xp.normal(xp.tensor(P, dtype=xp.float64), 1.0, out=out),
    "normal of complex means": lambda xp, out: xp.normal(xp.tensor([1j, 2.0, 3.0]), 1.0, out=out),
    "normal of one mean": lambda xp, out: xp.normal(2.0, xp.tensor(P), out=out),
    "normal of numbers": lambda xp, out: xp.normal(2.0, 1.0, (3,), out=out),
    "normal in float32": lambda xp, out: xp.normal(2.0, 1.0, (3,), dtype=xp.float32, out=out),
    "rand": lambda xp, out: xp.rand(3, out=out),
    "randn": lambda xp, out: xp.randn(3, out=out),
    "randn in float32": lambda xp, out: xp.randn(3, dtype=xp.float32, out=out),
    "randint": lambda xp, out: xp.randint(5, (3,), out=out),
    "randint in int64": lambda xp, out: xp.randint(5, (3,), dtype=xp.int64, out=out),
    "randperm": lambda xp, out: xp.randperm(3, out=out),
    "randperm in int32": lambda xp, out: xp.randperm(3, dtype=xp.int32, out=out),
    "multinomial": lambda xp, out: xp.multinomial(xp.tensor(P), 2, out=out)}


def function(xp, name: str):
    for part in name.split("."):
        xp = getattr(xp, part)
    return xp


def outcome(xp, call, of: str, to: str):
    x = (xp.arange(4) - 1.5 if of != "bool" else xp.arange(4) > 1).to(getattr(xp, of))
    out = xp.empty(0, dtype=getattr(xp, to))
    try:
        call(xp, x, out)
    except Exception as error:
        assert xp.__name__ == "torch" or out.numel() == 0, "a call that raises changes nothing"
        return type(error).__name__, str(error).split("\n")[0].split(". ")[0]
    return out.flatten().tolist()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_results_are_cast_or_refused_as_by_pytorch(torch, call):
    jtorch = library("jtorch")
    for of in DTYPES:
        for to in DTYPES:
            expected, got = outcome(torch, call, of, to), outcome(jtorch, call, of, to)
            wrong = isinstance(expected, tuple) or isinstance(got, tuple)
            assert got == (expected if wrong else pytest.approx(expected, rel=1e-3, nan_ok=True)), (of, to)


@pytest.mark.parametrize("call", DRAWN.values(), ids=DRAWN)
def test_drawn_numbers_are_of_the_dtype_of_out(torch, call):
    def drawn(xp, to: str, size: int):
        xp.manual_seed(3)
        out = xp.zeros(size, dtype=getattr(xp, to))
        try:
            call(xp, out)
        except Exception as error:
            return type(error).__name__, str(error).split("\n")[0].split(". ")[0]
        return (out * 2).dtype is out.dtype or to == "bool", out.tolist()
    jtorch = library("jtorch")
    for to in DTYPES:
        for size in (3, 0):
            (ok, expected), (same, got) = drawn(torch, to, size), drawn(jtorch, to, size)
            assert (same, got) == (ok, expected if isinstance(expected, str) else pytest.approx(expected, rel=1e-3)), (to, size)
