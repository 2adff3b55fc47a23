"""Reading and writing through every form of index, and the gradients through them."""
from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

pytestmark = [pytest.mark.core, pytest.mark.conformance]

BASIC = """0; -1; 3; 4; -5; True; False; None; ...; slice(None); slice(1, 3); slice(None, None, 2); slice(3, 1); slice(-2, None);
slice(10, 20); slice(None, None, -1); slice(None, None, 0); slice(0, 2.5); slice(xp.tensor(1), xp.tensor(3)); (0, 1); (0, 1, 2);
(0, 1, 2, 3); (0, ..., 1); (..., 1); (..., 0, slice(1)); (..., ...); (None, 0); (slice(None), None, 1); (0, None, ..., None); ();
xp.tensor(1); xp.tensor(-1); xp.tensor(5); xp.tensor(True); xp.tensor(False); np.int64(1); np.bool_(True); 1.5; 1j; {}; (slice(None), True)"""
LISTS = """[0, 2]; [0, 4]; [-1]; [[0, 1], [2, 3]]; []; [True, False, True, False]; [True, False]; [0, slice(None)]; [slice(None), 1];
[None]; [...]; ([0, 1], [0, 1]); ([0, 1], slice(None), [0, 1]); (slice(1, 3), [0, 1]); ([0], [0], [0]); ([0], [0], [0], [0]); range(2);
(range(2), 0); xp.Size([0, 1]); np.array([0, 2]); np.array([True, False, True, False]); (np.array([0, 1]),)"""
TENSORS = """xp.tensor([0, 2]); xp.tensor([0, -3]); xp.tensor([0, 4]); xp.tensor([0, -5]); xp.tensor([0, 2], dtype=xp.int32);
xp.tensor([0, 2], dtype=xp.int16); xp.tensor([0, 2], dtype=xp.int8); xp.tensor([0, 1, 1, 0], dtype=xp.uint8); xp.tensor([0.]);
xp.tensor([], dtype=xp.int64); xp.tensor([]); xp.tensor([[0, 1], [2, 3]]); xp.tensor([True, False, True, False]); xp.tensor([True, False]);
xp.zeros(4, 3, dtype=xp.bool); xp.arange(12).reshape(4, 3) % 2 == 0; xp.arange(60).reshape(4, 3, 5) % 7 == 0;
xp.ones(4, 3, 5, 1, dtype=xp.bool); xp.ones(3, 5, dtype=xp.bool); (slice(None), xp.ones(3, dtype=xp.bool));
(slice(None), xp.arange(15).reshape(3, 5) % 2 == 0)"""
MIXED = """(0, xp.tensor([0, 1])); (xp.tensor([0, 1]), 0); (xp.tensor([0, 1]), xp.tensor([0, 1])); (xp.tensor([0, 1]), xp.tensor([0, 1, 2]));
(xp.tensor([[0], [1]]), xp.tensor([0, 1, 2])); (xp.tensor([0, 1]), slice(None), xp.tensor([0, 1])); (slice(None), xp.tensor([0, 1]), xp.tensor([0, 1]));
(slice(None), xp.tensor([0, 1]), slice(1, 3)); (xp.tensor([0, 1]), None, xp.tensor([0, 1])); (xp.tensor([0, 1]), ..., xp.tensor([0, 1]));
(None, xp.tensor([0, 1]), xp.tensor([0, 1])); (slice(None), None, xp.tensor([0, 1]), None); (xp.tensor([0, 1]), 0, xp.tensor([0, 1]));
(0, slice(None), xp.tensor([0, 1])); (True, xp.tensor([0, 1])); (xp.tensor([True, False, True, False]), xp.tensor([True, False, True]));
(xp.tensor([True, False, True, False]), 0); (xp.tensor([0, 1]), xp.tensor([True, True, False])); (xp.tensor(1), xp.tensor(1));
(xp.tensor([1]), xp.tensor(1)); (slice(None), xp.tensor(1), xp.tensor([0])); (xp.tensor(True), 0)"""
GROUPS = {"basic": BASIC, "lists": LISTS, "tensors": TENSORS, "mixed": MIXED}


@pytest.fixture(params=list(GROUPS))
def indices(request) -> list[str]:
    """The indices of one group, as source."""
    return [i.strip() for i in GROUPS[request.param].split(";")]


def test_reading(same, indices):
    same(*[f"t = xp.arange(60).reshape(4, 3, 5); r = t[{i}]" for i in indices])


def test_gradient_of_reading(same, indices):
    same(*[f"t = xp.arange(60.).reshape(4, 3, 5).requires_grad_(); u = t[{i}]; (u * u).sum().backward(); "
           "r = (u, t.grad, type(u.grad_fn).__name__)" for i in indices])


@pytest.mark.parametrize("value", ["100", "2.5", "xp.arange(5.)", "xp.ones(7)"])
def test_writing(same, indices, value):
    same(*[f"t = xp.arange(60.).reshape(4, 3, 5); t[{i}] = {value}; r = (t, t._version)" for i in indices])


def test_gradient_of_writing(same, indices):
    same(*[f"t = xp.zeros(4, 3, 5, requires_grad=True); v = xp.ones(5, requires_grad=True); u = t * 2; u[{i}] = v * 3; "
           "(u * u).sum().backward(); r = (u, t.grad, v.grad)" for i in indices])


VALUES = ["xp.tensor(7.)", "[1, 2, 3, 4, 5]", "xp.ones(1, 1, 1, 5)", "np.arange(5)", "xp.ones(3, 1)", "1j", "'a'", "None", "True", "np.float32(2)"]
PLACES = ["0", "slice(None)", "(0, 1)", "[0, 1]", "xp.tensor([0, 1])", "(slice(None), [0, 1])", "xp.ones(4, dtype=xp.bool)", "..."]


@pytest.mark.parametrize("value", VALUES)
def test_kinds_of_values(same, value):
    same(*[f"t = xp.arange(60.).reshape(4, 3, 5); t[{i}] = {value}; r = t" for i in PLACES])


def test_dtype_of_values(same):
    same("t = xp.zeros(4, dtype=xp.int64); t[0] = 2.7; r = t",
         "t = xp.zeros(4, dtype=xp.int64); t[0] = xp.tensor(2.7); r = t",
         "t = xp.zeros(4, dtype=xp.int64); t[[0, 1]] = 2.7; r = t",
         "t = xp.zeros(4, dtype=xp.int64); t[[0, 1]] = xp.tensor([2.7, 1.5]); r = t",
         "t = xp.zeros(4, dtype=xp.uint8); t[0] = 300; r = t",
         "t = xp.zeros(4, dtype=xp.bool); t[0] = 5; r = t",
         "t = xp.zeros(4, dtype=xp.float16); t[1:3] = xp.tensor([1., 2.], dtype=xp.float64); r = t")


def test_zero_dim_and_empty(same):
    same(*[f"t = xp.tensor(5); r = t[{i}]" for i in ("0", "...", "None", "()", "True", "False", ":", "xp.tensor(True)")],
         *[f"t = xp.tensor(5); t[{i}] = 3; r = t" for i in ("0", "...", "()", "True", "False", "xp.tensor(True)")],
         *[f"t = xp.zeros(0, 3); r = t[{i}]" for i in ("0", "(slice(None), 0)", "xp.tensor([], dtype=xp.int64)", "xp.tensor([0])")])


def test_chains_and_overlaps(same):
    same("t = xp.zeros(3); del t[0]; r = t",
         "t = xp.zeros(3); t[0] += 1; r = (t, t._version)",
         "t = xp.zeros(3); t[[0, 0]] += 1; r = t",
         "t = xp.zeros(3); t[t == 0] = xp.tensor([1., 2., 3.]); r = t",
         "t = xp.zeros(3); t[t == 0] = xp.tensor([1., 2.]); r = t",
         "t = xp.zeros(3); t[t > 5] = xp.tensor([]); r = t",
         "t = xp.zeros(2, 3); t[0, :] = t[1, :] + 1; r = t",
         "t = xp.arange(6); t[1:] = t[:-1]; r = t",
         "t = xp.arange(6); t[1:].add_(t[:-1]); r = t",
         "t = xp.arange(6); t[:3] = t[3:]; r = t",
         "t = xp.arange(6.).reshape(2, 3); t[:] = t.flip(0); r = t",
         "t = xp.arange(4).reshape(2, 2); t[:] = t.t(); r = t",
         "t = xp.zeros(3); t.index_put_((xp.tensor([0, 0]),), xp.tensor([1., 2.]), accumulate=True); r = t",
         "t = xp.arange(10.); u = t[2:8][::2]; u[1] = -1; r = (t, u, u.storage_offset(), u.stride())",
         "t = xp.arange(10.); t[2:8][::2] = 0; r = t",
         "t = xp.arange(10.); t[[1, 2]][0] = 100; r = t")


def test_a_failed_write_changes_nothing(xp):
    t = xp.arange(60).reshape(4, 3, 5)
    for index, value in [(7, 1), ((0, 0, 9), 1), (0, xp.ones(7)), ([0, 1], xp.ones(2, 9, dtype=xp.int64))]:
        with pytest.raises((IndexError, RuntimeError)):
            t[index] = value
    assert t.tolist() == xp.arange(60).reshape(4, 3, 5).tolist()
    assert t._version == 0


SHAPE = (3, 4, 2)
parts = st.one_of(
    st.integers(-2, 1).map(str),
    st.builds("slice({}, {}, {})".format, st.integers(-4, 4) | st.none(), st.integers(-4, 4) | st.none(), st.integers(1, 3)),
    st.just("None"), st.just("..."), st.just("xp.tensor([0, 1, 1])"), st.just("[1, 0]"), st.just("xp.tensor([[0], [-1]])"), st.just("True"))


@settings(max_examples=60, deadline=None)
@given(st.lists(parts, min_size=1, max_size=4))
def test_any_combination(index):
    assume(index.count("...") < 2)
    torch = pytest.importorskip("torch")
    from conftest import compare, expression

    import jtorch
    where = f"({', '.join(index)},)"
    compare([expression(f"t = xp.arange(24.).reshape{SHAPE}; r = t[{where}]"),
                  expression(f"t = xp.arange(24.).reshape{SHAPE}; t[{where}] = -1; r = t")], torch, jtorch)
