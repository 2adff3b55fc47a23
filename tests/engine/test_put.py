"""Host arrays in JAX's memory: both paths keep elements, dtype and device, and never share the host's memory."""
import jax
import ml_dtypes
import numpy as np
import pytest

import jtorch as torch
from jtorch.engine import values

DTYPES = ["f4", "f8", "i8", "i4", "u1", "?", "c8", "c16", np.float16, ml_dtypes.bfloat16]
BOTH = pytest.mark.parametrize("quick", [True, False])


@BOTH
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (0, 2)], ids=str)
def test_the_elements_and_their_dtype_arrive(monkeypatch, quick, dtype, shape):
    monkeypatch.setattr(values, "_quick", quick)
    array = (np.random.default_rng(0).random(shape) * 9).astype(dtype)
    made = values.put(np.asarray(array), values.CPU)
    assert isinstance(made, jax.Array) and made.dtype == array.dtype and made.shape == shape and not made.weak_type
    assert made.committed and made.sharding == values.sharding_of(values.CPU)
    np.testing.assert_array_equal(np.asarray(made), array)


@BOTH
@pytest.mark.parametrize("show", [lambda a: a[::2, ::-1], lambda a: a.T, lambda a: np.broadcast_to(a[0], (3, 8)), lambda a: a[1:, 2:5]])
def test_any_strides(monkeypatch, quick, show):
    monkeypatch.setattr(values, "_quick", quick)
    array = show(np.arange(64.).reshape(8, 8))
    np.testing.assert_array_equal(np.asarray(values.put(array, values.CPU)), array)


@BOTH
def test_it_is_a_copy(monkeypatch, quick):
    monkeypatch.setattr(values, "_quick", quick)
    memory = np.zeros(64 * 64 + 64)
    start = (-memory.ctypes.data // 8) % 8
    array = memory[start:start + 64 * 64]        # The memory is aligned, so that JAX would share it.
    made = values.put(array, values.CPU)
    array[:] = 1
    assert not np.asarray(made).any()


@BOTH
def test_inside_a_traced_function(monkeypatch, quick):
    monkeypatch.setattr(values, "_quick", quick)
    kept = []

    def fn(x):
        kept.append(values.put(np.ones(3), values.CPU))
        return x
    jax.jit(fn)(1.)
    np.testing.assert_array_equal(np.asarray(kept[0]), np.ones(3))


def test_batches_that_change_are_trained_on():
    w = torch.zeros(3, requires_grad=True)
    seen = []
    for i in range(30):
        x = torch.from_numpy(np.full((2, 3), float(i), "f"))
        loss = (x @ w).sum() + x.sum()
        loss.backward()
        seen.append((loss.item(), w.grad[0].item()))
        w.grad = None
    assert seen == [(6. * i, 2. * i) for i in range(30)]
