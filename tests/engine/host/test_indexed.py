"""Ops with index tensors, and binary search, which the host computes in one step."""
from __future__ import annotations

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch import engine
from jtorch._base.config import ENGINE_MODE
from jtorch._nodes.vjp import vjp_call
from jtorch.engine import CPU, aval_of, stats
from jtorch.engine.host import untraced
from jtorch.ops.registry import OPS, T

X = np.arange(60, dtype=np.float32).reshape(5, 3, 4)
ROWS, PAIRS = np.array([4, 0, 4, 1]), np.array([[0, 2], [2, 2]])
EACH = np.array([[[0, 1, 2, 0]], [[2, 2, 0, 1]]])
NEW = np.linspace(-30, 90, 48, dtype=np.float32).reshape(4, 3, 4)
SORTED, WANTED = np.array([0.5, 1, 1, 2.5], np.float32), np.array([[1, np.nan, -3], [2.5, 9, 0.5]], np.float32)

CASES = {
    "rows": ("index", (T, (T,)), [X, ROWS]),
    "rows from behind": ("index", (T, (T,)), [X, ROWS - 5]),
    "columns": ("index", (T, (None, None, T)), [X, PAIRS]),
    "neighbouring dims": ("index", (T, (None, T, T)), [X, PAIRS, PAIRS[0]]),
    "dims apart": ("index", (T, (T, None, T)), [X, PAIRS, PAIRS]),
    "numbers": ("index", (T, (T, T)), [X, np.array(2), np.array(-1)]),
    "rows replaced": ("index_put", (T, (T,), T, False), [X, ROWS, NEW]),
    "rows of one number": ("index_put", (T, (T,), T, False), [X, ROWS, np.float32(7)]),
    "columns replaced": ("index_put", (T, (None, T), T, False), [X, PAIRS - 3, NEW[0, 0]]),
    "rows added": ("index_put", (T, (T,), T, True), [X, ROWS - 5, NEW]),
    "pairs added": ("index_put", (T, (T, T), T, True), [X, PAIRS, PAIRS.T, NEW[:2, :2]]),
    "index_select": ("index_select", (T, 1, T), [X, np.array([2, 0, 2, 2])]),
    "index_copy": ("index_copy", (T, -1, T, T), [X, np.array([1, 0]), NEW[:1, :, :2].repeat(5, 0)]),
    "index_add": ("index_add", (T, 0, T, T, 1), [X, ROWS, NEW]),
    "gather": ("gather", (T, 1, T, False), [X, EACH]),
    "scatter": ("scatter", (T, 1, T, T, None, None), [X, EACH, NEW]),
    "scatter of a number": ("scatter", (T, 1, T, T, None, None), [X, EACH, np.float64(1.5)]),
    "scatter_add": ("scatter_add", (T, 1, T, T), [X, EACH, NEW]),
    "the largest": ("scatter_reduce", (T, 1, T, T, "amax", True), [X, EACH, NEW]),
    "the least": ("scatter_reduce", (T, 1, T, T, "amin", True), [X, EACH, NEW]),
    "the sum": ("scatter_reduce", (T, 1, T, T, "sum", True), [X, EACH, NEW]),
    "searchsorted": ("searchsorted", (T, T, False, False, None, None), [SORTED, WANTED]),
    "from the right": ("searchsorted", (T, T, True, True, None, None), [SORTED, WANTED]),
    "bucketize": ("bucketize", (T, T, False, True), [WANTED, SORTED]),
    "whole numbers": ("bucketize", (T, T, False, False), [np.array([3, -1, 1]), np.array([0, 1, 3])]),
}
GRADIENTS = {"rows": (5, 3, 4), "rows from behind": (5, 3, 4), "numbers": (5, 3, 4), "gather": (5, 3, 4)}


def _both(call, arrays):
    """Return what the host's single step gives, and what XLA gives."""
    made = untraced.host_program(call.op, call.template, [aval_of(a.shape, a.dtype, CPU) for a in arrays])
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        expected = jax.tree.leaves(jax.jit(call.fn)(*arrays))
    return made, expected


@pytest.mark.parametrize("name", CASES)
def test_the_host_gives_what_xla_gives(name):
    op, template, arrays = CASES[name]
    made, (expected,) = _both(engine.call_of(OPS[op], template), arrays)
    laid_out_anew = [a.copy(order="F") for a in arrays]
    from_behind = [a[::-1].copy()[::-1] if a.ndim else a for a in arrays]
    for given in (arrays, laid_out_anew, from_behind):
        kept = [a.copy() for a in given]
        out, = made(given)
        assert out.dtype == expected.dtype and out.shape == expected.shape == made.out_avals[0].shape
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(given[0], kept[0])


@pytest.mark.parametrize("name", GRADIENTS)
def test_so_do_gradients(name):
    op, template, arrays = CASES[name]
    call = engine.call_of(OPS[op], template)
    (out,) = _both(call, arrays)[0](arrays)
    backward = vjp_call(call, (0,), (0,))
    made, (expected,) = _both(backward, [*arrays, np.cos(out)])
    found, = made([*arrays, np.cos(out)])
    assert found.shape == GRADIENTS[name]
    np.testing.assert_allclose(found, expected, 1e-6)


@pytest.mark.parametrize("op, template, arrays", [
    ("index", (T, (T,)), [X, ROWS[:0]]), ("index", (T, (T, T)), [X, ROWS, ROWS[:3]]), ("index", (T, (T,)), [X, ROWS > 2]),
    ("gather", (T, 1, T, False), [X, EACH[0]]), ("index_select", (T, 3, T), [X, ROWS]),
    ("index_add", (T, 0, T, T, 1), [X.astype(np.float16), ROWS, NEW.astype(np.float16)]),
    ("scatter_add", (T, 0, T, T), [X, EACH, NEW.astype(np.float64)]),
    ("searchsorted", (T, T, False, False, "left", None), [SORTED, WANTED])])
def test_unusual_arguments_go_the_ordinary_way(op, template, arrays):
    assert untraced.host_program(OPS[op], template, [aval_of(a.shape, a.dtype, CPU) for a in arrays]) is None


@pytest.mark.parametrize("op, low, high", [("index", -5, 4), ("index_select", 0, 4), ("gather", 0, 4)])
def test_indices_are_checked(op, low, high):
    x = torch.arange(5.0)
    read = {"index": lambda i: x[i], "index_select": lambda i: x.index_select(0, i), "gather": lambda i: x.gather(0, i)}[op]
    for i in (low, high):
        assert read(torch.tensor([2, i])).tolist() == [2, i % 5]
    for i in (low - 1, high + 1):
        with pytest.raises((IndexError, RuntimeError), match=f"ind.*{i}|out of range"):
            read(torch.tensor([2, i]))


@pytest.mark.skipif(ENGINE_MODE == "hot", reason="calls are held back")
def test_new_indices_need_no_jax_trace():
    engine.forget()
    x, before = torch.zeros(50, 3), stats.counters.untraced
    for n in range(1, 6):
        x[torch.arange(n)] = x[torch.arange(n) + 9] + 1.0
        x.scatter_add_(0, torch.zeros(n, 3, dtype=torch.long), torch.ones(n, 3))
    assert stats.counters.untraced - before >= 20
    assert x[0].tolist() == [6.0, 6.0, 6.0]
