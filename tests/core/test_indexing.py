"""Reading and writing through every form of index, and the gradients through them."""
from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from outcomes import compare, expression, outcome

pytestmark = pytest.mark.core

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


MASKS = ["m(1)", "m(0)", "(..., m(1))", "(0, m(1))", "(m(1), 0)", "(m(1), None)", "(None, m(1))", "(m(1), m(0))", "(m(1), [0, 1])",
         "([0, 1], m(0))", "m([1, 0])", "(m([1, 0]), 0)", "(slice(None), m([1, 0, 1]))", "(..., m([1, 0, 1]))", "m([[1, 0, 1]] * 2)",
         "m([1])", "(m([1, 0]), m([1, 0, 1]))", "np.array(True)", "np.array([1, 0], dtype=np.uint8)", "np.array([[1, 0, 1]] * 2) > 0"]


@pytest.mark.parametrize("dtype", ["bool", "uint8"])
@pytest.mark.parametrize("shape", [(2, 3), (6,), ()])
def test_masks_of_bools_and_bytes(same, shape, dtype):
    start = f"t = xp.arange(6.).flatten()[:{6 if shape else 1}].reshape({shape}); m = lambda x: xp.tensor(x, dtype=xp.{dtype}); "
    same(*[f"{start}r = t[{i}]" for i in MASKS], *[f"{start}t[{i}] = 9; r = t" for i in MASKS],
         *[f"{start}t[{i}] = xp.tensor([9.]); r = t" for i in MASKS], *[f"{start}t[{i}] *= 2; r = t" for i in MASKS],
         *[f"{start}t.requires_grad_(); t[{i}].sum().backward(); r = t.grad" for i in MASKS])


def test_indices_of_index_put(same):
    given = ["m(1),", "m(0),", "m([1, 0]),", "m([1, 0]), i", "m(1), i", "i, m(0)", "m([1]),", "i.float(),", "i.to(xp.int8),", "0,", "None, i",
             "i.int(),", "i, i, i", "m([[1, 0, 1]] * 2),"]
    for dtype in ("bool", "uint8"):
        start = f"t = xp.arange(6.).reshape(2, 3); i = xp.tensor([0, 1]); m = lambda x: xp.tensor(x, dtype=xp.{dtype}); "
        same(*[f"{start}r = t.index_put(({g}), xp.tensor(7.))" for g in given])
        same(*[f"{start}r = t.index_put(({g}), xp.tensor(7.), accumulate=True)" for g in given if g not in ("m(1),", "m(0),")])


def test_rows_written_to_where_they_come_from(same):
    """Only the version shows it, and the history where there is one."""
    same("t = xp.zeros(4, 2); t[-1] += xp.ones(2); r = (t, t._version)",
         "t = xp.arange(12.).reshape(3, 4); u = t.t(); u[2] *= 3; r = (t, t._version, u._version)",
         "t = xp.zeros(4); u = t.data; u[1] += 1; r = (t, t._version, u._version)",
         "t = xp.zeros(4); u = t.data; t[1] = u[1]; r = (t._version, u._version)",
         "t = xp.arange(3.); t[0] = t[1]; r = (t, t._version)",
         "t = xp.arange(3.); u = t[1]; t[1] = u; r = (t, t._version, u._version)",
         "t = xp.zeros(3); t[3] += 1; r = t",
         "t = xp.ones(4); u = t.view(xp.int32); t[0] = u[0]; r = t",
         "t = xp.ones(3, 1).expand(3, 2); t[0] = t[0]; r = t",
         "t = xp.ones(3, requires_grad=True); t[0] = t[0]; r = t",
         "t = xp.ones(3, requires_grad=True); u = t * 2; u[0] += 1; u.sum().backward(); r = (t.grad, u._version, u.grad_fn.name())",
         "with xp.inference_mode():\n    t = xp.ones(3)\nt[0] = t[0]; r = t",
         "t = xp.ones(3, requires_grad=True)\nwith xp.no_grad():\n    t[1] += 3\nr = (t, t._version)")


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
    import jtorch
    where = f"({', '.join(index)},)"
    bodies = [expression(f"t = xp.arange(24.).reshape{SHAPE}; r = t[{where}]"),
              expression(f"t = xp.arange(24.).reshape{SHAPE}; t[{where}] = -1; r = t")]
    compare([b.label for b in bodies], [outcome(b, torch) for b in bodies], [outcome(b, jtorch) for b in bodies])


# What holds for a row of X, which is made in a shorter way once many rows were taken of X.
ROWS = """
(r := X[2]).tolist() == [6.0, 7.0, 8.0] and r.shape == (3,) and r.stride() == (1,) and r.storage_offset() == 6
X[-1].tolist() == [12.0, 13.0, 14.0] and X[4].storage_offset() == X[-1].storage_offset() == 12
raises(IndexError, lambda: X[5]) and raises(IndexError, lambda: X[-6])
(r := X[1]) is not None and X.mul_(2) is X and r.tolist() == [6.0, 8.0, 10.0] and r._version == X._version == 1
(r := X[1]).add_(1) is r and X[1].tolist() == [4.0, 5.0, 6.0] and X[0, 0] == 0 and X._version == 1
(r := X[0]) is not None and X.mul_(2) is X and (r + X[1]).tolist() == [6.0, 10.0, 14.0]
X[1]._base is X and X[1]._is_view() and X[1][1]._base is X and X[1][1].item() == 4.0
X[1].data_ptr() == X.data_ptr() + 12
X.requires_grad_() is X and X[1].requires_grad and (X[1] * 2).sum().backward() is None and X.grad[1].tolist() == [2.0, 2.0, 2.0]
(d := X.detach())[1].add_(1) is not None and X[1].tolist() == [4.0, 5.0, 6.0] and X._version == d._version == 1
(d := X.data)[1].add_(1) is not None and X[1].tolist() == [4.0, 5.0, 6.0] and X._version == 0
(r := X[3]) is not None and X.t_() is X and r.tolist() == [9.0, 10.0, 11.0] and X[1].tolist() == [1.0, 4.0, 7.0, 10.0, 13.0]
(a := X.numpy()) is not None and a.fill(7) is None and X[1].tolist() == [7.0, 7.0, 7.0]
(r := X[1]) is not None and (a := X.numpy()) is not None and a.fill(7) is None and r.tolist() == [7.0, 7.0, 7.0]
(Y := X + 1).shape and [Y[0].tolist() for _ in range(100)][-1] == [1.0, 2.0, 3.0] and Y.add_(1)[0].tolist() == [2.0, 3.0, 4.0]
xp.stack([X[i] for i in (4, 0)]).tolist() == [[12.0, 13.0, 14.0], [0.0, 1.0, 2.0]]
[r.sum().item() for r in X] == [3.0, 12.0, 21.0, 30.0, 39.0]
(v := X[1:]) is not None and [v[0].tolist() for _ in range(100)][-1] == [3.0, 4.0, 5.0]
(n := X[:, 1]) is not None and [n[1].item() for _ in range(100)][-1] == 4.0 and n[-1].item() == 13.0
"""


@pytest.mark.parametrize("claim", ROWS.strip().splitlines())
def test_a_row_is_a_view_however_many_were_taken(xp, claim):
    X = xp.arange(15.0).reshape(5, 3).clone()
    assert X.tolist()       # it is computed, and what was recorded ends
    for _ in range(100):
        X[3]
    assert eval(claim, {"X": X, "xp": xp, "raises": raises})


# The same for parts of other dims.
COLUMNS = """
(c := X[:, 2]).tolist() == [2.0, 5.0, 8.0, 11.0, 14.0] and c.shape == (5,) and c.stride() == (3,) and c.storage_offset() == 2
(c := X[:, -1]).tolist() == [2.0, 5.0, 8.0, 11.0, 14.0] and not c.is_contiguous() and c.contiguous().stride() == (1,)
(c := X[:, 1:]).tolist()[4] == [13.0, 14.0] and c.stride() == (3, 1) and c.storage_offset() == 1 and c._base is X
(c := X[:, ::2]).tolist()[1] == [3.0, 5.0] and c.stride() == (3, 2) and (c @ xp.ones(2)).tolist()[0] == 2.0
X[:, 1:1].shape == (5, 0) and X[5:, 1].shape == (0,) and X[1:3, 1].tolist() == [4.0, 7.0] and X[::2, 2].stride() == (6,)
raises(IndexError, lambda: X[:, 3]) and raises(IndexError, lambda: X[:, -4])
(c := X[:, 1]) is not None and X.mul_(2) is X and c.tolist() == [2.0, 8.0, 14.0, 20.0, 26.0] and c._version == X._version == 1
(c := X[:, 1]).add_(1) is c and X[:, 1].tolist() == [2.0, 5.0, 8.0, 11.0, 14.0] and X[0, 0] == 0 and X._version == 1
(c := X[:, 0]) is not None and X.mul_(2) is X and (c + X[:, 1]).tolist()[1] == 14.0
X[:, 1].data_ptr() == X.data_ptr() + 4 and X[:, 1][2].item() == 7.0 and X[:, 1]._is_view()
X.requires_grad_() is X and (X[:, 1] * 2).sum().backward() is None and X.grad[1].tolist() == [0.0, 2.0, 0.0]
(d := X.detach())[:, 1].add_(1) is not None and X[:, 1].tolist()[1] == 5.0 and X._version == d._version == 1
(c := X[:, 2]) is not None and X.t_() is X and c.tolist()[1] == 5.0 and X[:, 1].tolist() == [3.0, 4.0, 5.0]
(a := X.numpy()) is not None and a.fill(7) is None and X[:, 1].tolist() == [7.0] * 5
(c := X[:, 1]) is not None and (a := X.numpy()) is not None and a.fill(7) is None and c.tolist() == [7.0] * 5
(Y := X.view(3, 5)) is not None and Y[:, 1].tolist() == [1.0, 6.0, 11.0] and Y[1].tolist() == [5.0, 6.0, 7.0, 8.0, 9.0]
(Y := X.view(xp.int32)) is not None and Y[:, 0].dtype == xp.int32 and Y[0, 0].item() == 0
(Y := X.t()) is not None and Y[:, 1].tolist() == [3.0, 4.0, 5.0] and Y[1].tolist() == [1.0, 4.0, 7.0, 10.0, 13.0]
(Y := X.expand(2, 5, 3)) is not None and Y[:, 1].tolist() == [[3.0, 4.0, 5.0]] * 2 and Y[:, 1].stride() == (0, 1)
(Y := X.bfloat16()) is not None and [Y[:, i % 3].tolist() for i in range(60)] and [Y[:, :i].tolist() for i in range(60)][2][1] == [3.0, 4.0]
(u := X.unbind(1)[1]) is not None and raises(RuntimeError, lambda: u[1:].mul_(xp.ones(4, requires_grad=True)))
(Y := X * 3)[:, 1].tolist() == [3.0, 12.0, 21.0, 30.0, 39.0] and xp.stack([X[:, i] for i in (2, 0)]).tolist()[1][1] == 3.0
"""


@pytest.mark.parametrize("claim", COLUMNS.strip().splitlines())
def test_a_column_is_a_view_however_many_were_taken(xp, claim):
    X = xp.arange(15.0).reshape(5, 3).clone()
    assert X.tolist()
    for start in range(3):
        assert [X[:, start].shape, X[:, start:].shape, X[:, :start].shape, X[:, start::2].shape]
    assert eval(claim, {"X": X, "xp": xp, "raises": raises})


def raises(error, f):
    with pytest.raises(error):
        f()
    return True


def test_rows_taken_without_a_gradient_cannot_be_written_to_with_one(xp):
    X = xp.zeros(3, 2)
    assert X.tolist()
    for _ in range(100):
        X[0]
    with xp.no_grad():
        row = X[1]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad mode enabled"):
        row.mul_(xp.ones(2, requires_grad=True))
    with xp.inference_mode():
        assert not X[1].is_inference()
        Y = xp.zeros(3, 2)
        assert [Y[0] for _ in range(100)][-1].is_inference()


def test_columns_taken_without_a_gradient_cannot_be_written_to_with_one(xp):
    X = xp.zeros(3, 20)
    assert X.tolist()
    with xp.no_grad():
        columns = [X[:, i] for i in range(20)]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad mode enabled"):
        columns[15].mul_(xp.ones(3, requires_grad=True))
    with xp.inference_mode():
        assert not X[:, 1].is_inference()
        Y = xp.zeros(3, 20)
        assert all([Y[:, i].is_inference() for i in range(20)])


def test_a_loop_over_columns_has_one_program():
    """Each index would be a call of its own."""
    import jtorch
    from jtorch._base.config import ENGINE_MODE
    from jtorch.engine import stats
    jtorch.engine.forget()
    data, w = jtorch.randn(8, 600), jtorch.randn(20, 20)
    before, runs = stats.counters.programs, stats.counters.program_runs
    for i in range(60):
        x = data[:, i * 10:i * 10 + 10]
        for _ in range(10):
            x = (x @ w[:10, :10]).tanh().exp() * 0.1
        x.sum().item()
    assert ENGINE_MODE != "auto" or (stats.counters.programs - before, stats.counters.program_runs - runs >= 30) == (1, True)


def test_a_slice_of_nothing_behind_what_was_joined_with_nothing(xp):
    """XLA ends the process for it, where it is compiled as written."""
    x = xp.ones(2, 2)
    for _ in range(30):
        joined = xp.cat([x, x[:0]])
        taken = joined[2:2:2] * 2
        assert (taken.shape, taken.sum().item(), joined.sum().item()) == ((0, 2), 0, 4)
