"""Products on the host leave NumPy's number of threads unchanged, and oneDNN takes arrays in their memory layout."""
import os
import threading

import numpy as np
import pytest

import jtorch as torch
from jtorch.engine.host import blas
from jtorch.ops import _onednn

threads = blas._openblas()
needs_openblas = pytest.mark.skipif(threads is None, reason="NumPy's products are another library's")


@needs_openblas
@pytest.mark.parametrize("count", [1, 2])
def test_numpys_number_of_threads_is_as_it_was(count):
    before = threads._get()
    threads._set(count)
    try:
        x = torch.ones(64, 128, dtype=torch.float64)
        assert (x @ torch.ones(128, 128, dtype=torch.float64)).sum().item() == 64 * 128 * 128
        assert threads._get() == count
        with pytest.raises(ValueError, match="matmul"):
            threads.matmul(np.ones((2, 3)), np.ones((2, 3)))
        assert threads._get() == count
    finally:
        threads._set(before)


@needs_openblas
def test_products_of_several_threads_at_once_leave_it_too():
    before, a = threads._get(), np.random.default_rng(0).standard_normal((128, 128)).astype("f")
    wrong = []

    def multiply():
        wrong.extend(1 for _ in range(200) if not np.allclose(threads.matmul(a, a), a @ a, rtol=1e-3, atol=1e-3))
    workers = [threading.Thread(target=multiply) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong
    assert threads._get() == before


DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
needs_onednn = pytest.mark.skipif(_onednn.version() is None, reason="oneDNN is not installed, or turned off")


def test_small_and_large_products_of_doubles_are_numpys():
    assert blas.matmul_for(64, 64, 64, DOUBLE) is np.matmul
    assert blas.matmul_for(128, 128, 128, DOUBLE) is np.matmul


@needs_onednn
def test_onednn_computes_what_numpy_would_share_among_threads():
    assert blas.matmul_for(64, 64, 64, SINGLE) is np.matmul
    assert blas.matmul_for(64, 64, 65, SINGLE) is _onednn.multiply
    assert blas.matmul_for(2, 1024, 1024, SINGLE) is not _onednn.multiply


def _padded(x):
    wide = np.zeros((*x.shape[:-1], x.shape[-1] + 3), x.dtype)
    wide[..., 1:-2] = x
    return wide[..., 1:-2]


LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    "rows with room": _padded,
    "columns with room": lambda x: _padded(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    "each second": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "backwards": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "last matrix first": lambda x: np.ascontiguousarray(x[::-1])[::-1],
}


@needs_onednn
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("leading", [(), (1,), (3,), (2, 3)])
def test_matrices_as_they_lie(left, right, leading):
    random = np.random.default_rng(0)
    a, b = random.standard_normal((*leading, 90, 70), "f"), random.standard_normal((*leading, 70, 50), "f")
    made = _onednn.multiply(LAYOUTS[left](a), LAYOUTS[right](b))
    np.testing.assert_allclose(made, a @ b, rtol=1e-4, atol=1e-4)


@needs_onednn
def test_one_matrix_shown_several_times():
    random = np.random.default_rng(0)
    a, b = random.standard_normal((3, 90, 70), "f"), random.standard_normal((1, 70, 50), "f")
    shown = np.broadcast_to(b, (3, 70, 50))
    np.testing.assert_allclose(_onednn.multiply(a, shown), a @ shown, rtol=1e-4, atol=1e-4)
    number = np.broadcast_to(np.float32(2), (70, 50))
    np.testing.assert_allclose(_onednn.multiply(a[0], number), a[0] @ number, rtol=1e-4, atol=1e-4)


@needs_onednn
def test_numbers_that_are_not_finite_stay():
    a = np.ones((90, 70), np.float32)
    a[3, 4], a[5, 6] = np.nan, np.inf
    found = torch.from_numpy(a) @ torch.ones(70, 80)
    assert found.isnan()[3].all() and (found[5] == np.inf).all() and (found[6] == 70).all()


@needs_onednn
def test_threads_that_multiply_at_once():
    a = np.random.default_rng(0).standard_normal((200, 200), "f")
    expected, wrong = _onednn.multiply(a, a), []

    def multiply():
        wrong.extend(1 for _ in range(200) if not np.array_equal(_onednn.multiply(a, a), expected))
    workers = [threading.Thread(target=multiply) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


@needs_onednn
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_products_in_a_forked_process():
    a = np.random.default_rng(0).standard_normal((300, 300), "f")
    expected = _onednn.multiply(a, a)
    child = os.fork()
    if not child:
        os._exit(not np.allclose(_onednn.multiply(a, a), expected, rtol=1e-4, atol=1e-4))
    assert os.waitpid(child, 0)[1] == 0
