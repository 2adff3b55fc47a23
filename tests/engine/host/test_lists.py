"""Programs of ``stack`` and ``cat`` that are made without a JAX trace."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import jtorch
from jtorch import engine
from jtorch._nodes.vjp import vjp_call
from jtorch.engine import CPU, aval_of, stats
from jtorch.engine.host import lists
from jtorch.ops.registry import OPS, T

JOINED = {"stack": np.stack, "cat": np.concatenate}
CASES = [("stack", (), 3, 0), ("stack", (2, 3), 5, 1), ("stack", (2, 3), 2, -1), ("stack", (4,), 1, 0), ("cat", (2, 3), 4, 0),
         ("cat", (2, 3, 2), 3, -1), ("cat", (1,), 40, 0)]


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int64, ml_dtypes.bfloat16], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("name, shape, count, dim", CASES)
def test_a_list_is_joined(name, shape, count, dim, dtype):
    call = engine.call_of(OPS[name], ((T,) * count, dim))
    arrays = [np.arange(i, i + np.prod(shape, dtype=int)).reshape(shape).astype(dtype) for i in range(count)]
    made = lists.host_program(name, call.template, [aval_of(a.shape, a.dtype, CPU) for a in arrays])
    out, = made(arrays)
    assert out.dtype == dtype and made.out_avals[0].shape == out.shape
    np.testing.assert_array_equal(out, JOINED[name](arrays, dim))


@pytest.mark.parametrize("every", [1, 2], ids=["all", "each second"])
@pytest.mark.parametrize("name, shape, count, dim", CASES)
def test_and_its_gradient_taken_apart(name, shape, count, dim, every):
    call, needs = engine.call_of(OPS[name], ((T,) * count, dim)), tuple(range(count))[::every]
    arrays = [np.arange(i, i + np.prod(shape, dtype=int)).reshape(shape).astype(np.float32) for i in range(count)]
    joined = JOINED[name](arrays, dim)
    backward = vjp_call(call, needs, (0,))
    given = [*arrays, joined]
    made = lists.host_program(backward.op.name, backward.template, [aval_of(a.shape, a.dtype, CPU) for a in given])
    outs = made([np.zeros_like(a) for a in arrays] + [joined])
    assert made.used == (False,) * count + (True,) and len(outs) == len(needs)
    for i, out, aval in zip(needs, outs, made.out_avals, strict=True):
        assert aval.shape == out.shape
        np.testing.assert_array_equal(out, arrays[i])


@pytest.mark.parametrize("name, shapes, dtypes, dim", [
    ("stack", [(2,), (3,)], "ff", 0), ("stack", [(2,), (2,)], "fi", 0), ("stack", [(2,)], "f", 2), ("stack", [(0,), (0,)], "ff", 0),
    ("cat", [(2, 2), (2, 3)], "ff", 0), ("cat", [(0,), (2, 3)], "ff", 0), ("cat", [()], "f", 0), ("sum", [(2,)], "f", 0)])
def test_what_is_not_alike_goes_the_ordinary_way(name, shapes, dtypes, dim):
    avals = [aval_of(s, np.dtype(d), CPU) for s, d in zip(shapes, dtypes, strict=True)]
    assert lists.host_program(name, ((T,) * len(avals), dim), avals) is None


def test_a_list_that_grows_is_not_traced():
    engine.forget()
    before, kept = stats.counters.lists, []
    for i in range(5):
        kept.append(torch_number(i))
        total = (jtorch.stack(kept) * jtorch.arange(i + 1.0)).sum()
    total.backward()
    assert stats.counters.lists == before + 6
    assert [t.grad.item() for t in kept] == [0, 1, 2, 3, 4]


def torch_number(i: int) -> jtorch.Tensor:
    return jtorch.tensor(float(i), requires_grad=True)
