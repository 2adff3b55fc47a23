"""NumPy arrays: shared memory in both directions, NumPy's functions of tensors, DLPack."""
from __future__ import annotations

import gc
import operator

import numpy as np
import pytest

pytestmark = pytest.mark.core

FUNCTIONS = [
    lambda xp: xp.ones(2, requires_grad=True).numpy(),
    lambda xp: xp.ones(2, requires_grad=True).detach().numpy(),
    lambda xp: np.asarray(xp.ones(2, requires_grad=True)),
    lambda xp: xp.ones(2, dtype=xp.bfloat16).numpy(),
    lambda xp: xp.ones(2).numpy(force=True),
    lambda xp: xp.ones(2, requires_grad=True).numpy(force=True),
    lambda xp: np.exp(xp.ones(3)),
    lambda xp: np.add(xp.ones(3), 1),
    lambda xp: xp.ones(3) + np.ones(3),
    lambda xp: xp.ones(3) * np.float64(2),
    lambda xp: np.float64(2) * xp.ones(3),
    lambda xp: xp.arange(3.) ** np.float64(2),
    lambda xp: xp.float_power(xp.arange(3), np.float64(2)),
    lambda xp: np.float64(2) ** xp.arange(3),
    lambda xp: np.stack([xp.ones(3), xp.zeros(3)]),
    lambda xp: np.array([xp.tensor(1), xp.tensor(2)]),
    lambda xp: np.array(xp.ones(2), dtype=np.int32),
    lambda xp: np.asarray(xp.ones(2)).dtype,
    lambda xp: np.concatenate([xp.ones(2), xp.ones(2)]),
    lambda xp: np.allclose(xp.ones(2), 1),
    lambda xp: np.testing.assert_allclose(xp.ones(2), np.ones(2)),
    lambda xp: np.float32(xp.tensor(2.)),
    lambda xp: np.int64(xp.tensor(2)),
    lambda xp: np.zeros(3)[xp.tensor([0, 1])],
    lambda xp: np.zeros(3)[xp.tensor(1)],
    lambda xp: np.full(2, xp.tensor(3.)),
    lambda xp: np.arange(xp.tensor(3)),
    lambda xp: np.argmax(xp.tensor([1., 3., 2.])),
    lambda xp: np.sqrt(xp.tensor([4.])),
    lambda xp: np.clip(xp.tensor([4.]), 0, 1),
    lambda xp: np.isnan(xp.tensor([1., float("nan")])),
    lambda xp: np.transpose(xp.ones(2, 3)).shape,
    lambda xp: np.reshape(xp.ones(2, 3), (3, 2)).shape,
    lambda xp: np.from_dlpack(xp.arange(3)),
    lambda xp: xp.from_dlpack(np.arange(3)),
    lambda xp: xp.from_dlpack(xp.arange(3)),
    lambda xp: xp.ones(2, requires_grad=True).__dlpack__(),
    lambda xp: xp.from_dlpack([1]),
]


def test_functions(same):
    same(*FUNCTIONS)


def test_memory_maps_are_arrays(xp, tmp_path):
    table = np.memmap(tmp_path / "table", np.int64, "w+", shape=(8,))
    table[:] = np.arange(8)
    x = xp.from_numpy(table)
    assert xp.stack([x, xp.from_numpy(table[::2]).repeat(2)]).sum().item() == 52
    assert type(x.numpy()) is np.ndarray
    x[0] = 5
    assert table[0] == 5


def test_from_numpy_shares_both_ways(xp):
    a = np.zeros((2, 3))
    t = xp.from_numpy(a)
    t[0, 1] = 5
    a[1] = 7
    t += 1
    assert a.tolist() == t.tolist() == [[1, 6, 1], [8, 8, 8]]


def test_numpy_shares_both_ways(xp):
    t = xp.zeros(2, 3) + 1
    a = t.numpy()
    a[0] = 5
    t.mul_(2)
    t[1, 2] = 0
    assert a.tolist() == t.tolist() == [[10, 10, 10], [2, 2, 0]]
    assert np.shares_memory(a, t.numpy())


def test_views_on_both_sides(xp):
    a = np.arange(24.0).reshape(2, 3, 4)
    t = xp.from_numpy(a[:, ::2].transpose(2, 0, 1))
    assert t.shape == (4, 2, 2)
    assert t.stride() == (1, 12, 8)
    v = t[1:, 0]
    v.zero_()
    assert a[0, 0].tolist() == [0, 0, 0, 0]
    assert a[0, 1].tolist() == [4, 5, 6, 7]
    a[0, 2, 3] = -1
    assert v[2, 1].item() == -1
    b = v.numpy()
    b[:] = 9
    assert a[0, 2].tolist() == [8, 9, 9, 9]


def test_a_view_exports_its_bases_memory(xp):
    t = xp.arange(6.0)
    v = t[2:].view(2, 2).t()
    a = v.numpy()
    a[0, 1] = 100
    assert t.tolist() == [0, 1, 2, 3, 100, 5]
    t[5] = 7
    assert a[1, 1] == 7


def test_what_was_computed_before_a_write_keeps_its_value(xp):
    a = np.ones(3)
    t = xp.from_numpy(a)
    u = t * 2
    v = t[1:]
    w = v + 1
    a[:] = 100
    assert u.tolist() == [2, 2, 2]
    assert w.tolist() == [2, 2]
    assert v.tolist() == [100, 100]
    assert (t + 0).tolist() == [100, 100, 100]


def test_shared_memory_while_recorded_work_is_pending(xp):
    a = np.zeros(3, np.float32)
    t = xp.from_numpy(a)
    for k in range(30):     # often enough for the loop to be compiled
        u = t * 2 + k
        a += 1
        v = t * 2 + k
        t.add_(1)
        a -= 1
        assert u.tolist() == [k * 2 + k] * 3
        assert v.tolist() == [k * 2 + k + 2] * 3
        assert a.tolist() == [k + 1] * 3


def test_gradients_with_shared_memory(xp):
    a = np.array([1.0, 2.0])
    t = xp.from_numpy(a).requires_grad_()
    y = (t * t).sum()
    y.backward()
    assert t.grad.tolist() == [2, 4]
    t.grad.numpy()[0] = 50
    assert t.grad.tolist() == [50, 4]
    with xp.no_grad():
        t -= 1
    assert a.tolist() == [0, 1]


def test_an_optimizer_writes_into_shared_memory(xp):
    p = xp.zeros(3, requires_grad=True)
    seen = p.detach().numpy()
    for _ in range(12):
        p.grad = None
        (p - 1).pow(2).sum().backward()
        with xp.no_grad():
            p.sub_(0.1 * p.grad)
        assert seen.tolist() == p.tolist()


def test_memory_outlives_either_side(xp):
    a = np.arange(1000.0)
    t = xp.from_numpy(a)
    del a
    gc.collect()
    assert t.sum().item() == 499500
    t = xp.arange(1000.0) * 1
    a = t[10:].numpy()
    del t
    gc.collect()
    np.zeros(100000)
    assert a.sum() == 499500 - 45
    v = xp.from_numpy(np.arange(5))[1:]
    gc.collect()
    assert v.tolist() == [1, 2, 3, 4]


def test_a_copy_is_no_alias(xp):
    a = np.arange(3.0)
    for t in (xp.tensor(a), xp.from_numpy(a).clone(), xp.from_numpy(a).to(xp.float32), xp.from_numpy(a) + 0, xp.asarray(a, copy=True)):
        t.zero_()
    assert a.tolist() == [0, 1, 2]
    t = xp.ones(2)
    np.array(t.numpy())[0] = 5
    assert t.tolist() == [1, 1]


def test_detach_and_data_share(xp):
    x = xp.ones(2, requires_grad=True)
    a = x.detach().numpy()
    a[0] = 3
    assert x.tolist() == [3, 1]
    x.data.mul_(2)
    assert a.tolist() == [6, 2]


def test_deepcopy_and_pickle_of_shared_memory_do_not_share(xp):
    import copy
    import pickle
    a = np.zeros(2)
    t = xp.from_numpy(a)
    for u in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        u[0] = 1
    assert a.tolist() == [0, 0]


def test_resize_of_shared_memory(xp):
    t = xp.from_numpy(np.zeros(2))
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        t.resize_(5)


def test_dlpack_with_numpy(xp):
    a = np.arange(4.0)
    t = xp.from_dlpack(a)
    t[0] = 9
    assert a[0] == 9
    u = xp.arange(3.0) + 0
    b = np.from_dlpack(u)
    u[1] = 7
    assert b.tolist() == [0, 7, 2]


def test_dlpack_with_jax(xp):
    import jax.numpy as jnp
    t = xp.from_dlpack(jnp.arange(4.0))
    assert t.tolist() == [0, 1, 2, 3]
    assert jnp.from_dlpack(xp.arange(3, dtype=xp.float32)).tolist() == [0, 1, 2]


def test_a_jax_array_is_never_written_to():
    import jax.numpy as jnp

    import jtorch
    array = jnp.arange(4.0)
    for t in (jtorch.from_dlpack(array), jtorch.from_jax(array), jtorch.as_tensor(array), jtorch.asarray(array)):
        t.add_(1)
        t.numpy()[0] = 100
    assert array.tolist() == [0, 1, 2, 3]


def test_dlpack_between_torch_and_jtorch(torch):
    import jtorch
    a = torch.arange(3.0)
    t = jtorch.from_dlpack(a)
    a[0] = 5
    assert t.tolist() == [5, 1, 2]
    b = torch.from_dlpack(jtorch.arange(3.0))
    assert b.tolist() == [0, 1, 2]


def test_numpys_functions_that_call_methods():
    """PyTorch refuses these, because NumPy passes ``out`` and PyTorch's methods lack it."""
    import jtorch
    assert np.sum(jtorch.ones(3)).item() == 3 and np.mean(jtorch.ones(2, 2), axis=0).tolist() == [1, 1]


ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod, "**": operator.pow,
              "@": operator.matmul, "<<": operator.lshift, "&": operator.and_}


array_wrap = pytest.mark.filterwarnings("ignore:__array_wrap__ must accept context")       # PyTorch causes this warning.


@array_wrap
@pytest.mark.parametrize("name", ARITHMETIC)
def test_a_tensor_and_an_array(xp, name):
    """NumPy computes, and the tensor wraps the result. An array on the left has no such operator."""
    compute, x, a = ARITHMETIC[name], xp.tensor([1, 2, 3]), np.array([4, 1, 2])
    made = compute(x, a)
    assert isinstance(made, xp.Tensor)
    assert made.tolist() == compute(np.array([1, 2, 3]), a).tolist()
    with pytest.raises(TypeError):
        compute(a, x)


@array_wrap
def test_quotients_and_comparisons_with_arrays(xp):
    x, a = xp.tensor([1.0, 2.0, 4.0]), np.array([4.0, 2.0, 1.0])
    assert (x / a).dtype is (a / x).dtype is xp.float64
    assert (a / x).tolist() == [4, 1, 0.25]
    assert (x == a).tolist() == (a == x).tolist() == [False, True, False]
    assert (x != a) is True
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        for pair in ((x, a), (a, x)):
            with pytest.raises(TypeError, match="not supported between instances of"):
                compare(*pair)


@array_wrap
def test_updating_a_tensor_by_an_array_makes_another(xp):
    x = before = xp.tensor([1.0, 2.0])
    x += np.array([1.0, 1.0])
    assert (x.tolist(), x.dtype, before.tolist()) == ([2, 3], xp.float64, [1, 2])


def test_numpys_bools_are_numbers(xp):
    assert (xp.ones(2) - np.bool_(True)).tolist() == [0, 0]
    assert (xp.ones(2, dtype=xp.int64) + np.bool_(True)).dtype is xp.float32


def test_a_tensor_with_a_graph_and_an_array(xp):
    with pytest.raises(RuntimeError, match="Can't call numpy.. on Tensor that requires grad"):
        xp.ones(2, requires_grad=True) + np.ones(2)


def test_a_write_that_fails_keeps_memory_that_numpy_shares(xp):
    x = xp.arange(24).reshape(2, 3, 4)
    shared, second = x.numpy(), x.tensor_split((0,), 2)[1]
    with pytest.raises(RuntimeError, match="shape mismatch"):
        second[xp.tensor([1]), 0:1:2] = second.clone()
    second[0, 0, 0] = 7
    assert shared[0, 0, 0] == 7 and x.sum().item() == 276 + 7
