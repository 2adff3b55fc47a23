"""Reading and writing through every form of index, and the gradients through them."""
from __future__ import annotations

import numpy as np
import pytest
from bodies import Programs, bodies, words, written
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from outcomes import compare, outcome

pytestmark = pytest.mark.core

BASIC = [
    lambda xp: 0,
    lambda xp: -1,
    lambda xp: 3,
    lambda xp: 4,
    lambda xp: -5,
    lambda xp: True,
    lambda xp: False,
    lambda xp: None,
    lambda xp: ...,
    lambda xp: slice(None),
    lambda xp: slice(1, 3),
    lambda xp: slice(None, None, 2),
    lambda xp: slice(3, 1),
    lambda xp: slice(-2, None),
    lambda xp: slice(10, 20),
    lambda xp: slice(None, None, -1),
    lambda xp: slice(None, None, 0),
    lambda xp: slice(0, 2.5),
    lambda xp: slice(xp.tensor(1), xp.tensor(3)),
    lambda xp: (0, 1),
    lambda xp: (0, 1, 2),
    lambda xp: (0, 1, 2, 3),
    lambda xp: (0, ..., 1),
    lambda xp: (..., 1),
    lambda xp: (..., 0, slice(1)),
    lambda xp: (..., ...),
    lambda xp: (None, 0),
    lambda xp: (slice(None), None, 1),
    lambda xp: (0, None, ..., None),
    lambda xp: (),
    lambda xp: xp.tensor(1),
    lambda xp: xp.tensor(-1),
    lambda xp: xp.tensor(5),
    lambda xp: xp.tensor(True),
    lambda xp: xp.tensor(False),
    lambda xp: np.int64(1),
    lambda xp: np.bool_(True),
    lambda xp: 1.5,
    lambda xp: 1j,
    lambda xp: {},
    lambda xp: (slice(None), True),
]
LISTS = [
    lambda xp: [0, 2],
    lambda xp: [0, 4],
    lambda xp: [-1],
    lambda xp: [[0, 1], [2, 3]],
    lambda xp: [],
    lambda xp: [True, False, True, False],
    lambda xp: [True, False],
    lambda xp: [0, slice(None)],
    lambda xp: [slice(None), 1],
    lambda xp: [None],
    lambda xp: [...],
    lambda xp: ([0, 1], [0, 1]),
    lambda xp: ([0, 1], slice(None), [0, 1]),
    lambda xp: (slice(1, 3), [0, 1]),
    lambda xp: ([0], [0], [0]),
    lambda xp: ([0], [0], [0], [0]),
    lambda xp: range(2),
    lambda xp: (range(2), 0),
    lambda xp: xp.Size([0, 1]),
    lambda xp: np.array([0, 2]),
    lambda xp: np.array([True, False, True, False]),
    lambda xp: (np.array([0, 1]),),
]
TENSORS = [
    lambda xp: xp.tensor([0, 2]),
    lambda xp: xp.tensor([0, -3]),
    lambda xp: xp.tensor([0, 4]),
    lambda xp: xp.tensor([0, -5]),
    lambda xp: xp.tensor([0, 2], dtype=xp.int32),
    lambda xp: xp.tensor([0, 2], dtype=xp.int16),
    lambda xp: xp.tensor([0, 2], dtype=xp.int8),
    lambda xp: xp.tensor([0, 1, 1, 0], dtype=xp.uint8),
    lambda xp: xp.tensor([0.]),
    lambda xp: xp.tensor([], dtype=xp.int64),
    lambda xp: xp.tensor([]),
    lambda xp: xp.tensor([[0, 1], [2, 3]]),
    lambda xp: xp.tensor([True, False, True, False]),
    lambda xp: xp.tensor([True, False]),
    lambda xp: xp.zeros(4, 3, dtype=xp.bool),
    lambda xp: xp.arange(12).reshape(4, 3) % 2 == 0,
    lambda xp: xp.arange(60).reshape(4, 3, 5) % 7 == 0,
    lambda xp: xp.ones(4, 3, 5, 1, dtype=xp.bool),
    lambda xp: xp.ones(3, 5, dtype=xp.bool),
    lambda xp: (slice(None), xp.ones(3, dtype=xp.bool)),
    lambda xp: (slice(None), xp.arange(15).reshape(3, 5) % 2 == 0),
]
MIXED = [
    lambda xp: (0, xp.tensor([0, 1])),
    lambda xp: (xp.tensor([0, 1]), 0),
    lambda xp: (xp.tensor([0, 1]), xp.tensor([0, 1])),
    lambda xp: (xp.tensor([0, 1]), xp.tensor([0, 1, 2])),
    lambda xp: (xp.tensor([[0], [1]]), xp.tensor([0, 1, 2])),
    lambda xp: (xp.tensor([0, 1]), slice(None), xp.tensor([0, 1])),
    lambda xp: (slice(None), xp.tensor([0, 1]), xp.tensor([0, 1])),
    lambda xp: (slice(None), xp.tensor([0, 1]), slice(1, 3)),
    lambda xp: (xp.tensor([0, 1]), None, xp.tensor([0, 1])),
    lambda xp: (xp.tensor([0, 1]), ..., xp.tensor([0, 1])),
    lambda xp: (None, xp.tensor([0, 1]), xp.tensor([0, 1])),
    lambda xp: (slice(None), None, xp.tensor([0, 1]), None),
    lambda xp: (xp.tensor([0, 1]), 0, xp.tensor([0, 1])),
    lambda xp: (0, slice(None), xp.tensor([0, 1])),
    lambda xp: (True, xp.tensor([0, 1])),
    lambda xp: (xp.tensor([True, False, True, False]), xp.tensor([True, False, True])),
    lambda xp: (xp.tensor([True, False, True, False]), 0),
    lambda xp: (xp.tensor([0, 1]), xp.tensor([True, True, False])),
    lambda xp: (xp.tensor(1), xp.tensor(1)),
    lambda xp: (xp.tensor([1]), xp.tensor(1)),
    lambda xp: (slice(None), xp.tensor(1), xp.tensor([0])),
    lambda xp: (xp.tensor(True), 0),
]
GROUPS = {"basic": BASIC, "lists": LISTS, "tensors": TENSORS, "mixed": MIXED}


@pytest.fixture(params=list(GROUPS))
def indices(request) -> list:
    """Give the indices of one group, as functions of ``xp``."""
    return GROUPS[request.param]


def reading(xp, index):
    t = xp.arange(60).reshape(4, 3, 5)
    return t[index(xp)]


def test_reading(same, indices):
    same(*bodies(reading, indices))


def gradient_of_reading(xp, index):
    t = xp.arange(60.).reshape(4, 3, 5).requires_grad_()
    u = t[index(xp)]
    (u * u).sum().backward()
    return u, t.grad, type(u.grad_fn).__name__


def test_gradient_of_reading(same, indices):
    same(*bodies(gradient_of_reading, indices))


def writing(xp, index, value):
    t = xp.arange(60.).reshape(4, 3, 5)
    t[index(xp)] = value(xp)
    return t, t._version


@pytest.mark.parametrize("value", [
    lambda xp: 100,
    lambda xp: 2.5,
    lambda xp: xp.arange(5.),
    lambda xp: xp.ones(7),
], ids=written)
def test_writing(same, indices, value):
    same(*bodies(writing, indices, value))


def gradient_of_writing(xp, index):
    t = xp.zeros(4, 3, 5, requires_grad=True)
    v = xp.ones(5, requires_grad=True)
    u = t * 2
    u[index(xp)] = v * 3
    (u * u).sum().backward()
    return u, t.grad, v.grad


def test_gradient_of_writing(same, indices):
    same(*bodies(gradient_of_writing, indices))


VALUES = [
    lambda xp: xp.tensor(7.),
    lambda xp: [1, 2, 3, 4, 5],
    lambda xp: xp.ones(1, 1, 1, 5),
    lambda xp: np.arange(5),
    lambda xp: xp.ones(3, 1),
    lambda xp: 1j,
    lambda xp: 'a',
    lambda xp: None,
    lambda xp: True,
    lambda xp: np.float32(2),
]
PLACES = [
    lambda xp: 0,
    lambda xp: slice(None),
    lambda xp: (0, 1),
    lambda xp: [0, 1],
    lambda xp: xp.tensor([0, 1]),
    lambda xp: (slice(None), [0, 1]),
    lambda xp: xp.ones(4, dtype=xp.bool),
    lambda xp: ...,
]


def writing_a_value(xp, index, value):
    t = xp.arange(60.).reshape(4, 3, 5)
    t[index(xp)] = value(xp)
    return t


@pytest.mark.parametrize("value", VALUES, ids=written)
def test_kinds_of_values(same, value):
    same(*bodies(writing_a_value, PLACES, value))


conversions = Programs()


@conversions
def float_to_an_integer(xp):
    t = xp.zeros(4, dtype=xp.int64)
    t[0] = 2.7
    return t


@conversions
def zero_dim_tensor_to_an_integer(xp):
    t = xp.zeros(4, dtype=xp.int64)
    t[0] = xp.tensor(2.7)
    return t


@conversions
def float_to_listed_integers(xp):
    t = xp.zeros(4, dtype=xp.int64)
    t[[0, 1]] = 2.7
    return t


@conversions
def tensor_to_listed_integers(xp):
    t = xp.zeros(4, dtype=xp.int64)
    t[[0, 1]] = xp.tensor([2.7, 1.5])
    return t


@conversions
def number_past_a_bytes(xp):
    t = xp.zeros(4, dtype=xp.uint8)
    t[0] = 300
    return t


@conversions
def number_to_a_bool(xp):
    t = xp.zeros(4, dtype=xp.bool)
    t[0] = 5
    return t


@conversions
def float64_to_float16(xp):
    t = xp.zeros(4, dtype=xp.float16)
    t[1:3] = xp.tensor([1., 2.], dtype=xp.float64)
    return t


@pytest.mark.parametrize("program", conversions, ids=words)
def test_dtype_of_values(same, program):
    same(program)


OF_A_NUMBER = [
    lambda xp: 0,
    lambda xp: ...,
    lambda xp: None,
    lambda xp: (),
    lambda xp: True,
    lambda xp: False,
    lambda xp: slice(None),
    lambda xp: xp.tensor(True),
]
PLACES_IN_A_NUMBER = [
    lambda xp: 0,
    lambda xp: ...,
    lambda xp: (),
    lambda xp: True,
    lambda xp: False,
    lambda xp: xp.tensor(True),
]
OF_NOTHING = [
    lambda xp: 0,
    lambda xp: (slice(None), 0),
    lambda xp: xp.tensor([], dtype=xp.int64),
    lambda xp: xp.tensor([0]),
]


def reading_a_number(xp, index):
    t = xp.tensor(5)
    return t[index(xp)]


def writing_a_number(xp, index):
    t = xp.tensor(5)
    t[index(xp)] = 3
    return t


def reading_nothing(xp, index):
    t = xp.zeros(0, 3)
    return t[index(xp)]


def test_zero_dim_and_empty(same):
    same(*bodies(reading_a_number, OF_A_NUMBER), *bodies(writing_a_number, PLACES_IN_A_NUMBER),
         *bodies(reading_nothing, OF_NOTHING))


MASKS = [
    lambda m: m(1),
    lambda m: m(0),
    lambda m: (..., m(1)),
    lambda m: (0, m(1)),
    lambda m: (m(1), 0),
    lambda m: (m(1), None),
    lambda m: (None, m(1)),
    lambda m: (m(1), m(0)),
    lambda m: (m(1), [0, 1]),
    lambda m: ([0, 1], m(0)),
    lambda m: m([1, 0]),
    lambda m: (m([1, 0]), 0),
    lambda m: (slice(None), m([1, 0, 1])),
    lambda m: (..., m([1, 0, 1])),
    lambda m: m([[1, 0, 1]] * 2),
    lambda m: m([1]),
    lambda m: (m([1, 0]), m([1, 0, 1])),
    lambda m: np.array(True),
    lambda m: np.array([1, 0], dtype=np.uint8),
    lambda m: np.array([[1, 0, 1]] * 2) > 0,
]


def masks_of(xp, dtype):
    """Return the function that makes masks of a dtype."""
    return lambda x: xp.tensor(x, dtype=getattr(xp, dtype))


def numbers_in(xp, shape):
    return xp.arange(6.).flatten()[:6 if shape else 1].reshape(shape)


def reading_by_a_mask(xp, mask, dtype, shape):
    t, m = numbers_in(xp, shape), masks_of(xp, dtype)
    return t[mask(m)]


def a_number_by_a_mask(xp, mask, dtype, shape):
    t, m = numbers_in(xp, shape), masks_of(xp, dtype)
    t[mask(m)] = 9
    return t


def a_tensor_by_a_mask(xp, mask, dtype, shape):
    t, m = numbers_in(xp, shape), masks_of(xp, dtype)
    t[mask(m)] = xp.tensor([9.])
    return t


def scaling_by_a_mask(xp, mask, dtype, shape):
    t, m = numbers_in(xp, shape), masks_of(xp, dtype)
    t[mask(m)] *= 2
    return t


def gradient_by_a_mask(xp, mask, dtype, shape):
    t, m = numbers_in(xp, shape), masks_of(xp, dtype)
    t.requires_grad_()
    t[mask(m)].sum().backward()
    return t.grad


@pytest.mark.parametrize("dtype", ["bool", "uint8"])
@pytest.mark.parametrize("shape", [(2, 3), (6,), ()])
def test_masks_of_bools_and_bytes(same, shape, dtype):
    for program in (reading_by_a_mask, a_number_by_a_mask, a_tensor_by_a_mask, scaling_by_a_mask, gradient_by_a_mask):
        same(*bodies(program, MASKS, dtype, shape))


ALL_NUMBERS = [
    lambda xp, m, i: (m(1),),
    lambda xp, m, i: (m(0),),
]
INDICES_OF_INDEX_PUT = [
    *ALL_NUMBERS,
    lambda xp, m, i: (m([1, 0]),),
    lambda xp, m, i: (m([1, 0]), i),
    lambda xp, m, i: (m(1), i),
    lambda xp, m, i: (i, m(0)),
    lambda xp, m, i: (m([1]),),
    lambda xp, m, i: (i.float(),),
    lambda xp, m, i: (i.to(xp.int8),),
    lambda xp, m, i: (0,),
    lambda xp, m, i: (None, i),
    lambda xp, m, i: (i.int(),),
    lambda xp, m, i: (i, i, i),
    lambda xp, m, i: (m([[1, 0, 1]] * 2),),
]


def index_put(xp, indices, dtype):
    t, i = xp.arange(6.).reshape(2, 3), xp.tensor([0, 1])
    return t.index_put(indices(xp, masks_of(xp, dtype), i), xp.tensor(7.))


def index_put_added(xp, indices, dtype):
    t, i = xp.arange(6.).reshape(2, 3), xp.tensor([0, 1])
    return t.index_put(indices(xp, masks_of(xp, dtype), i), xp.tensor(7.), accumulate=True)


def test_indices_of_index_put(same):
    for dtype in ("bool", "uint8"):
        same(*bodies(index_put, INDICES_OF_INDEX_PUT, dtype))
        same(*bodies(index_put_added, INDICES_OF_INDEX_PUT[len(ALL_NUMBERS):], dtype))


rows_written = Programs()


@rows_written
def last_row_added_to(xp):
    t = xp.zeros(4, 2)
    t[-1] += xp.ones(2)
    return t, t._version


@rows_written
def column_of_a_transpose_scaled(xp):
    t = xp.arange(12.).reshape(3, 4)
    u = t.t()
    u[2] *= 3
    return t, t._version, u._version


@rows_written
def number_of_data_added_to(xp):
    t = xp.zeros(4)
    u = t.data
    u[1] += 1
    return t, t._version, u._version


@rows_written
def number_from_data(xp):
    t = xp.zeros(4)
    u = t.data
    t[1] = u[1]
    return t._version, u._version


@rows_written
def number_from_another_place(xp):
    t = xp.arange(3.)
    t[0] = t[1]
    return t, t._version


@rows_written
def number_from_its_own_place(xp):
    t = xp.arange(3.)
    u = t[1]
    t[1] = u
    return t, t._version, u._version


@rows_written
def number_past_the_end(xp):
    t = xp.zeros(3)
    t[3] += 1
    return t


@rows_written
def bits_of_a_number(xp):
    t = xp.ones(4)
    u = t.view(xp.int32)
    t[0] = u[0]
    return t


@rows_written
def row_of_an_expanded_tensor(xp):
    t = xp.ones(3, 1).expand(3, 2)
    t[0] = t[0]
    return t


@rows_written
def row_of_a_leaf(xp):
    t = xp.ones(3, requires_grad=True)
    t[0] = t[0]
    return t


@rows_written
def row_with_history(xp):
    t = xp.ones(3, requires_grad=True)
    u = t * 2
    u[0] += 1
    u.sum().backward()
    return t.grad, u._version, u.grad_fn.name()


@rows_written
def tensor_of_inference(xp):
    with xp.inference_mode():
        t = xp.ones(3)
    t[0] = t[0]
    return t


@rows_written
def leaf_without_gradients(xp):
    t = xp.ones(3, requires_grad=True)
    with xp.no_grad():
        t[1] += 3
    return t, t._version


@pytest.mark.parametrize("program", rows_written, ids=words)
def test_rows_written_to_where_they_come_from(same, program):
    """Only the version shows the write, and the history if there is one."""
    same(program)


overlaps = Programs()


@overlaps
def deleting_an_item(xp):
    t = xp.zeros(3)
    del t[0]
    return t


@overlaps
def adding_to_an_item(xp):
    t = xp.zeros(3)
    t[0] += 1
    return t, t._version


@overlaps
def adding_twice_at_one_index(xp):
    t = xp.zeros(3)
    t[[0, 0]] += 1
    return t


@overlaps
def as_many_values_as_the_mask_has(xp):
    t = xp.zeros(3)
    t[t == 0] = xp.tensor([1., 2., 3.])
    return t


@overlaps
def fewer_values_than_the_mask_has(xp):
    t = xp.zeros(3)
    t[t == 0] = xp.tensor([1., 2.])
    return t


@overlaps
def no_values_for_no_places(xp):
    t = xp.zeros(3)
    t[t > 5] = xp.tensor([])
    return t


@overlaps
def row_from_another_row(xp):
    t = xp.zeros(2, 3)
    t[0, :] = t[1, :] + 1
    return t


@overlaps
def slice_from_before(xp):
    t = xp.arange(6)
    t[1:] = t[:-1]
    return t


@overlaps
def slice_added_from_before(xp):
    t = xp.arange(6)
    t[1:].add_(t[:-1])
    return t


@overlaps
def half_from_the_other_half(xp):
    t = xp.arange(6)
    t[:3] = t[3:]
    return t


@overlaps
def all_from_its_flip(xp):
    t = xp.arange(6.).reshape(2, 3)
    t[:] = t.flip(0)
    return t


@overlaps
def all_from_its_transpose(xp):
    t = xp.arange(4).reshape(2, 2)
    t[:] = t.t()
    return t


@overlaps
def accumulating_at_one_index(xp):
    t = xp.zeros(3)
    t.index_put_((xp.tensor([0, 0]),), xp.tensor([1., 2.]), accumulate=True)
    return t


@overlaps
def number_in_a_slice_of_a_slice(xp):
    t = xp.arange(10.)
    u = t[2:8][::2]
    u[1] = -1
    return t, u, u.storage_offset(), u.stride()


@overlaps
def slice_of_a_slice(xp):
    t = xp.arange(10.)
    t[2:8][::2] = 0
    return t


@overlaps
def write_to_a_copy(xp):
    t = xp.arange(10.)
    t[[1, 2]][0] = 100
    return t


@pytest.mark.parametrize("program", overlaps, ids=words)
def test_chains_and_overlaps(same, program):
    same(program)


def test_a_failed_write_changes_nothing(xp):
    t = xp.arange(60).reshape(4, 3, 5)
    for index, value in [(7, 1), ((0, 0, 9), 1), (0, xp.ones(7)), ([0, 1], xp.ones(2, 9, dtype=xp.int64))]:
        with pytest.raises((IndexError, RuntimeError)):
            t[index] = value
    assert t.tolist() == xp.arange(60).reshape(4, 3, 5).tolist()
    assert t._version == 0


SHAPE = (3, 4, 2)
bound = st.integers(-4, 4) | st.none()
parts = st.one_of(
    st.integers(-2, 1),
    st.builds(slice, bound, bound, st.integers(1, 3)),
    st.just(None), st.just(...), st.just(True), st.builds(lambda: [1, 0]),
    st.just(lambda xp: xp.tensor([0, 1, 1])),
    st.just(lambda xp: xp.tensor([[0], [-1]])))


@settings(max_examples=60, deadline=None)
@given(st.lists(parts, min_size=1, max_size=4))
@pytest.mark.one_mode
def test_any_combination(index):
    assume(index.count(...) < 2)
    torch = pytest.importorskip("torch")
    import jtorch

    def index_of(xp):
        return tuple(part(xp) if callable(part) else part for part in index)

    def reading(xp):
        t = xp.arange(24.).reshape(SHAPE)
        return t[index_of(xp)]

    def writing(xp):
        t = xp.arange(24.).reshape(SHAPE)
        t[index_of(xp)] = -1
        return t

    programs = [reading, writing]
    compare(map(words, programs), [outcome(p, torch) for p in programs], [outcome(p, jtorch) for p in programs])


@pytest.fixture
def table(xp):
    """Return a computed matrix, so that the trace of its computation has ended."""
    X = xp.arange(15.0).reshape(5, 3).clone()
    assert X.tolist()
    return X


@pytest.fixture
def X(table):
    """Return a matrix after many rows were read, so that further reads take a shorter path."""
    for _ in range(100):
        table[3]
    return table


class TestRowsThatAreViewsHoweverManyWereTaken:

    def test_a_row_has_its_geometry(self, X):
        r = X[2]
        assert r.tolist() == [6.0, 7.0, 8.0]
        assert r.shape == (3,)
        assert r.stride() == (1,)
        assert r.storage_offset() == 6

    def test_rows_are_counted_from_behind(self, X):
        assert X[-1].tolist() == [12.0, 13.0, 14.0]
        assert X[4].storage_offset() == X[-1].storage_offset() == 12

    def test_rows_past_the_ends_are_refused(self, X):
        with pytest.raises(IndexError):
            X[5]
        with pytest.raises(IndexError):
            X[-6]

    def test_a_row_sees_a_write_to_the_matrix(self, X):
        r = X[1]
        assert X.mul_(2) is X
        assert r.tolist() == [6.0, 8.0, 10.0]
        assert r._version == X._version == 1

    def test_the_matrix_sees_a_write_to_a_row(self, X):
        r = X[1]
        assert r.add_(1) is r
        assert X[1].tolist() == [4.0, 5.0, 6.0]
        assert X[0, 0] == 0
        assert X._version == 1

    def test_rows_of_before_and_after_a_write_are_added(self, X):
        r = X[0]
        assert X.mul_(2) is X
        assert (r + X[1]).tolist() == [6.0, 10.0, 14.0]

    def test_the_base_is_the_matrix(self, X):
        assert X[1]._base is X
        assert X[1]._is_view()
        assert X[1][1]._base is X
        assert X[1][1].item() == 4.0

    def test_a_row_has_its_address(self, X):
        assert X[1].data_ptr() == X.data_ptr() + 12

    def test_a_gradient_goes_through_a_row(self, X):
        assert X.requires_grad_() is X
        assert X[1].requires_grad
        (X[1] * 2).sum().backward()
        assert X.grad[1].tolist() == [2.0, 2.0, 2.0]

    def test_a_write_through_detach_is_counted(self, X):
        d = X.detach()
        d[1].add_(1)
        assert X[1].tolist() == [4.0, 5.0, 6.0]
        assert X._version == d._version == 1

    def test_a_write_through_data_is_not_counted(self, X):
        d = X.data
        d[1].add_(1)
        assert X[1].tolist() == [4.0, 5.0, 6.0]
        assert X._version == 0

    def test_a_row_stays_where_the_matrix_is_transposed(self, X):
        r = X[3]
        assert X.t_() is X
        assert r.tolist() == [9.0, 10.0, 11.0]
        assert X[1].tolist() == [1.0, 4.0, 7.0, 10.0, 13.0]

    def test_a_row_is_taken_after_a_write_by_numpy(self, X):
        a = X.numpy()
        a.fill(7)
        assert X[1].tolist() == [7.0, 7.0, 7.0]

    def test_a_row_sees_a_write_by_numpy(self, X):
        r = X[1]
        a = X.numpy()
        a.fill(7)
        assert r.tolist() == [7.0, 7.0, 7.0]

    def test_many_rows_of_a_result(self, X):
        Y = X + 1
        assert Y.shape
        assert [Y[0].tolist() for _ in range(100)][-1] == [1.0, 2.0, 3.0]
        assert Y.add_(1)[0].tolist() == [2.0, 3.0, 4.0]

    def test_rows_are_stacked(self, X, xp):
        assert xp.stack([X[i] for i in (4, 0)]).tolist() == [[12.0, 13.0, 14.0], [0.0, 1.0, 2.0]]

    def test_rows_are_iterated_over(self, X):
        assert [r.sum().item() for r in X] == [3.0, 12.0, 21.0, 30.0, 39.0]

    def test_many_rows_of_a_slice(self, X):
        v = X[1:]
        assert [v[0].tolist() for _ in range(100)][-1] == [3.0, 4.0, 5.0]

    def test_many_numbers_of_a_column(self, X):
        n = X[:, 1]
        assert [n[1].item() for _ in range(100)][-1] == 4.0
        assert n[-1].item() == 13.0


class TestColumnsThatAreViewsHoweverManyWereTaken:

    @pytest.fixture
    def X(self, table):
        """Return a matrix after columns and slices of columns were read."""
        for start in range(3):
            assert [table[:, start].shape, table[:, start:].shape, table[:, :start].shape, table[:, start::2].shape]
        return table

    def test_a_column_has_its_geometry(self, X):
        c = X[:, 2]
        assert c.tolist() == [2.0, 5.0, 8.0, 11.0, 14.0]
        assert c.shape == (5,)
        assert c.stride() == (3,)
        assert c.storage_offset() == 2

    def test_the_last_column(self, X):
        c = X[:, -1]
        assert c.tolist() == [2.0, 5.0, 8.0, 11.0, 14.0]
        assert not c.is_contiguous()
        assert c.contiguous().stride() == (1,)

    def test_later_columns(self, X):
        c = X[:, 1:]
        assert c.tolist()[4] == [13.0, 14.0]
        assert c.stride() == (3, 1)
        assert c.storage_offset() == 1
        assert c._base is X

    def test_every_second_column(self, X, xp):
        c = X[:, ::2]
        assert c.tolist()[1] == [3.0, 5.0]
        assert c.stride() == (3, 2)
        assert (c @ xp.ones(2)).tolist()[0] == 2.0

    def test_none_and_parts_of_columns(self, X):
        assert X[:, 1:1].shape == (5, 0)
        assert X[5:, 1].shape == (0,)
        assert X[1:3, 1].tolist() == [4.0, 7.0]
        assert X[::2, 2].stride() == (6,)

    def test_columns_past_the_ends_are_refused(self, X):
        with pytest.raises(IndexError):
            X[:, 3]
        with pytest.raises(IndexError):
            X[:, -4]

    def test_a_column_sees_a_write_to_the_matrix(self, X):
        c = X[:, 1]
        assert X.mul_(2) is X
        assert c.tolist() == [2.0, 8.0, 14.0, 20.0, 26.0]
        assert c._version == X._version == 1

    def test_the_matrix_sees_a_write_to_a_column(self, X):
        c = X[:, 1]
        assert c.add_(1) is c
        assert X[:, 1].tolist() == [2.0, 5.0, 8.0, 11.0, 14.0]
        assert X[0, 0] == 0
        assert X._version == 1

    def test_columns_of_before_and_after_a_write_are_added(self, X):
        c = X[:, 0]
        assert X.mul_(2) is X
        assert (c + X[:, 1]).tolist()[1] == 14.0

    def test_a_column_has_its_address(self, X):
        assert X[:, 1].data_ptr() == X.data_ptr() + 4
        assert X[:, 1][2].item() == 7.0
        assert X[:, 1]._is_view()

    def test_a_gradient_goes_through_a_column(self, X):
        assert X.requires_grad_() is X
        (X[:, 1] * 2).sum().backward()
        assert X.grad[1].tolist() == [0.0, 2.0, 0.0]

    def test_a_write_through_detach_is_counted(self, X):
        d = X.detach()
        d[:, 1].add_(1)
        assert X[:, 1].tolist()[1] == 5.0
        assert X._version == d._version == 1

    def test_a_column_stays_where_the_matrix_is_transposed(self, X):
        c = X[:, 2]
        assert X.t_() is X
        assert c.tolist()[1] == 5.0
        assert X[:, 1].tolist() == [3.0, 4.0, 5.0]

    def test_a_column_is_taken_after_a_write_by_numpy(self, X):
        a = X.numpy()
        a.fill(7)
        assert X[:, 1].tolist() == [7.0] * 5

    def test_a_column_sees_a_write_by_numpy(self, X):
        c = X[:, 1]
        a = X.numpy()
        a.fill(7)
        assert c.tolist() == [7.0] * 5

    def test_a_column_of_a_view(self, X):
        Y = X.view(3, 5)
        assert Y[:, 1].tolist() == [1.0, 6.0, 11.0]
        assert Y[1].tolist() == [5.0, 6.0, 7.0, 8.0, 9.0]

    def test_a_column_of_integers(self, X, xp):
        Y = X.view(xp.int32)
        assert Y[:, 0].dtype == xp.int32
        assert Y[0, 0].item() == 0

    def test_a_column_of_a_transpose(self, X):
        Y = X.t()
        assert Y[:, 1].tolist() == [3.0, 4.0, 5.0]
        assert Y[1].tolist() == [1.0, 4.0, 7.0, 10.0, 13.0]

    def test_a_column_of_an_expanded_matrix(self, X):
        Y = X.expand(2, 5, 3)
        assert Y[:, 1].tolist() == [[3.0, 4.0, 5.0]] * 2
        assert Y[:, 1].stride() == (0, 1)

    def test_many_columns_of_another_dtype(self, X):
        Y = X.bfloat16()
        assert [Y[:, i % 3].tolist() for i in range(60)]
        assert [Y[:, :i].tolist() for i in range(60)][2][1] == [3.0, 4.0]

    def test_a_part_of_unbind_takes_no_history(self, X, xp):
        u = X.unbind(1)[1]
        with pytest.raises(RuntimeError):
            u[1:].mul_(xp.ones(4, requires_grad=True))

    def test_a_column_of_a_result_and_stacked_columns(self, X, xp):
        assert (X * 3)[:, 1].tolist() == [3.0, 12.0, 21.0, 30.0, 39.0]
        assert xp.stack([X[:, i] for i in (2, 0)]).tolist()[1][1] == 3.0


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


def test_a_loop_over_columns_has_one_program(monkeypatch):
    """Without this, each index would be a call of its own."""
    import jtorch
    from jtorch._base.config import ENGINE_MODE
    from jtorch.engine import policy, stats
    monkeypatch.setattr(policy, "FOREGROUND", float("inf"))
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
    """XLA would end the process if it compiled this as written."""
    x = xp.ones(2, 2)
    for _ in range(30):
        joined = xp.cat([x, x[:0]])
        taken = joined[2:2:2] * 2
        assert (taken.shape, taken.sum().item(), joined.sum().item()) == ((0, 2), 0, 4)
