"""Programs of ops that are made without a JAX trace."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import jtorch
from jtorch import engine
from jtorch._nodes.vjp import vjp_call
from jtorch.engine import CPU, aval_of, stats
from jtorch.engine.host import untraced
from jtorch.ops.registry import OPS, T, freeze

JOINED = {"stack": np.stack, "cat": np.concatenate}
CASES = [("stack", (), 3, 0), ("stack", (2, 3), 5, 1), ("stack", (2, 3), 2, -1), ("stack", (4,), 1, 0), ("cat", (2, 3), 4, 0),
         ("cat", (2, 3, 2), 3, -1), ("cat", (1,), 40, 0)]


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int64, ml_dtypes.bfloat16], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("name, shape, count, dim", CASES)
def test_a_list_is_joined(name, shape, count, dim, dtype):
    call = engine.call_of(OPS[name], ((T,) * count, dim))
    arrays = [np.arange(i, i + np.prod(shape, dtype=int)).reshape(shape).astype(dtype) for i in range(count)]
    made = untraced.host_program(OPS[name], call.template, [aval_of(a.shape, a.dtype, CPU) for a in arrays])
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
    made = untraced.host_program(backward.op, backward.template, [aval_of(a.shape, a.dtype, CPU) for a in given])
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
    assert untraced.host_program(OPS[name], ((T,) * len(avals), dim), avals) is None


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("batch", [(), (3,), (1, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_attention_of_a_few_queries(dtype, batch, scale):
    draw = np.random.default_rng(0)
    query, key, value = [draw.normal(size=(*batch, *s)).astype(dtype) for s in ((2, 8), (50, 8), (50, 5))]
    key[..., 7, :] = 300        # Without subtracting the maximum, exponentials of these scores would overflow.
    made = untraced.host_program(OPS["nn.functional.scaled_dot_product_attention"], _attention(scale),
                                 [aval_of(a.shape, a.dtype, CPU) for a in (query, key, value)])
    weights = query.astype(np.float64) @ key.astype(np.float64).swapaxes(-1, -2) * (8 ** -0.5 if scale is None else scale)
    weights = np.exp(weights - weights.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ value
    for given in ([query, key, value], [query, key[..., ::-1, :][..., ::-1, :], np.asfortranarray(value)]):
        out, = made(given)
        assert out.dtype == dtype and out.shape == made.out_avals[0].shape
        np.testing.assert_allclose(out, expected, 1e-4 if dtype == np.float32 else 1e-12, 1e-6 if dtype == np.float32 else 1e-14)


def _attention(scale=None, dropout=0.0, is_causal=False, enable_gqa=False):
    return T, T, T, None, freeze(dropout), freeze(is_causal), freeze(scale), freeze(enable_gqa)


@pytest.mark.parametrize("shapes, given", [
    ([(2, 8), (5, 8), (5, 8)], {"is_causal": True}), ([(2, 8), (5, 8), (5, 8)], {"dropout": 0.5}),
    ([(4, 2, 8), (2, 5, 8), (2, 5, 8)], {"enable_gqa": True}), ([(2, 8), (5, 7), (5, 8)], {}), ([(2, 8), (0, 8), (0, 8)], {}),
    ([(3, 2, 8), (1, 5, 8), (1, 5, 8)], {}), ([(600, 8), (5, 8), (5, 8)], {}), ([(8,), (5, 8), (5, 8)], {})])
def test_other_attention_goes_the_ordinary_way(shapes, given):
    avals = [aval_of(s, np.dtype(np.float32), CPU) for s in shapes]
    assert untraced.host_program(OPS["nn.functional.scaled_dot_product_attention"], _attention(**given), avals) is None


def test_a_list_that_grows_is_not_traced():
    engine.forget()
    before, kept = stats.counters.untraced, []
    for i in range(5):
        kept.append(torch_number(i))
        total = (jtorch.stack(kept) * jtorch.arange(i + 1.0)).sum()
    total.backward()
    assert stats.counters.untraced == before + 6
    assert [t.grad.item() for t in kept] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_sequences_of_any_lengths_are_filled_up_without_a_trace(batch_first, side):
    engine.forget()
    before = stats.counters.untraced
    for lengths in ((4, 2, 5), (1, 3), (6, 6, 1, 2)):
        given = [jtorch.arange(3.0 * n).view(n, 3).requires_grad_() for n in lengths]
        made = jtorch.nn.utils.rnn.pad_sequence(given, batch_first, -2.0, side)
        expected = np.full((len(lengths), max(lengths), 3), -2, np.float32)
        for i, n in enumerate(lengths):
            expected[i, slice(-n, None) if side == "left" else slice(n)] = given[i].tolist()
        np.testing.assert_array_equal(made.detach().numpy(), expected if batch_first else expected.swapaxes(0, 1))
        (made * made).sum().backward()
        assert all([jtorch.equal(x.grad, 2 * x) for x in given])
    assert stats.counters.untraced == before + 6


@pytest.mark.parametrize("dtype", ["float32", "bool", "bfloat16", "complex64"])
def test_writes_through_views_are_not_traced(dtype):
    engine.forget()
    before, x, expected = stats.counters.untraced, jtorch.zeros(5, 4, 3).to(getattr(jtorch, dtype)), np.zeros((5, 4, 3))
    for i in range(5):
        x[i][i % 4][i % 3] = True
        x.transpose(0, 2)[0][1:3, i] = x.transpose(0, 2)[2][1:3, i]
        expected[i, i % 4, i % 3] = 1
        expected[i, 1:3, 0] = expected[i, 1:3, 2]
    np.testing.assert_array_equal(x.to(jtorch.complex64).real.numpy(), expected)
    assert stats.counters.untraced >= before + 10


def test_and_neither_is_their_backward():
    engine.forget()
    before, v = stats.counters.untraced, jtorch.arange(1.0, 4.0).requires_grad_()
    base = jtorch.ones(3, 3, requires_grad=True)
    made = base * 2
    for i in range(3):
        made[i][i] = v[i] * v[i]
    (made * jtorch.arange(9.0).view(3, 3)).sum().backward()
    assert base.grad.tolist() == [[0, 2, 4], [6, 0, 10], [12, 14, 0]]
    assert v.grad.tolist() == [0, 16, 48]
    assert stats.counters.untraced >= before + 6


def torch_number(i: int) -> jtorch.Tensor:
    return jtorch.tensor(float(i), requires_grad=True)
