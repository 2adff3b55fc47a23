"""The user's setting for the number of threads of an op."""
from __future__ import annotations

import numpy as np
import pytest

import jtorch


@pytest.fixture(autouse=True)
def as_before():
    before, between = jtorch.get_num_threads(), jtorch.get_num_interop_threads()
    yield
    jtorch.set_num_threads(before)
    jtorch.set_num_interop_threads(between)


def test_products_use_no_more_than_was_said():
    from jtorch.engine.host import blas
    openblas = blas._openblas()
    if openblas is None:
        pytest.skip("NumPy uses another library")
    for n in (1, 2):
        jtorch.set_num_threads(n)
        assert jtorch.get_num_threads() == openblas.number == n
        # If NumPy computes this product, it uses one thread, and the number is restored.
        (jtorch.ones(64, 128) @ jtorch.ones(128, 96)).sum().item()
        assert openblas.number == n


def test_what_is_compiled_for_one_thread_does_without_the_pool():
    from jtorch.engine import threads
    jtorch.set_num_threads(2)
    assert threads.pool_for(1.0)
    assert not threads.pool_for(1e-6)
    jtorch.set_num_threads(1)
    assert not threads.pool_for(1.0)


def test_ops_and_what_is_between_them_are_counted_apart(torch):
    for xp in (jtorch, torch):
        before = xp.get_num_threads()
        if xp is jtorch:        # PyTorch accepts the setting once in a process.
            xp.set_num_interop_threads(3)
            assert xp.get_num_interop_threads() == 3
        assert xp.get_num_threads() == before
        xp.set_num_threads(np.int64(before))
        for say in (xp.set_num_threads, xp.set_num_interop_threads):
            for wrong, error, text in ((0, RuntimeError, "expects a positive integer"), (1.5, RuntimeError, "got float"),
                                       (True, RuntimeError, "expects an int, but got bool"), ("1", RuntimeError, "got str"),
                                       (1 << 65, ValueError, "Overflow when unpacking long long")):
                with pytest.raises(error, match=text):
                    say(wrong)
