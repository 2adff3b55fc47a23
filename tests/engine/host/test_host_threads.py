"""Products on the host run in one thread, and NumPy's threads are restored afterwards."""
import threading

import numpy as np
import pytest

import jtorch as torch
from jtorch.engine.host import blas

threads = blas._openblas()
needs_openblas = pytest.mark.skipif(threads is None, reason="NumPy's products are another library's")


@needs_openblas
@pytest.mark.parametrize("count", [1, 2])
def test_numpys_number_of_threads_is_as_it_was(count):
    before = threads._get()
    threads._set(count)
    try:
        x = torch.ones(64, 128)
        assert (x @ torch.ones(128, 128)).sum().item() == 64 * 128 * 128
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


def test_small_and_large_products_are_numpys():
    assert blas.matmul_for(blas.SHARED) is np.matmul
    assert blas.matmul_for(blas.LARGE + 1) is np.matmul
