"""The arguments of from_dlpack, and the memory shared by its result."""
from __future__ import annotations

import jax
import numpy as np
import pytest


def test_copy(xp):
    a = np.arange(3.0)
    for copy, shown in ((True, 0.0), (False, 7.0), (None, 7.0)):
        a[0] = 0
        t = xp.from_dlpack(a, copy=copy)
        t[0] = 7
        assert t.tolist() == [7.0, 1.0, 2.0] and a[0] == shown


def test_device(xp):
    assert xp.from_dlpack(np.arange(2.0), device="cpu").tolist() == [0.0, 1.0]
    assert xp.utils.dlpack.from_dlpack(xp.ones(2), device=xp.device("cpu"), copy=True).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError):
        xp.from_dlpack(np.arange(2.0), "cpu")
    with pytest.raises(AssertionError, match="already a DLPack capsule"):
        xp.from_dlpack(xp.utils.dlpack.to_dlpack(xp.ones(2)), copy=True)


def test_a_tensor_shares_memory_and_no_version(xp):
    x = xp.zeros(2)
    y = xp.from_dlpack(x)
    y += 1
    assert x.tolist() == [1.0, 1.0] and (x._version, y._version) == (0, 1)
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        xp.from_dlpack(xp.ones(2, requires_grad=True))


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_dtypes_that_numpy_lacks(xp, dtype):
    x = xp.arange(6.0).reshape(2, 3).to(getattr(xp, dtype)).t()
    y = xp.utils.dlpack.from_dlpack(xp.utils.dlpack.to_dlpack(x))
    assert (y.dtype, y.stride(), y.float().tolist()) == (x.dtype, (1, 3), [[0, 3], [1, 4], [2, 5]])
    y[0, 0] = 7
    assert x[0, 0].item() == 7


def test_bfloat16_between_libraries(xp):
    x = xp.tensor([1.0, 2.0], dtype=xp.bfloat16)
    assert jax.dlpack.from_dlpack(x).tolist() == [1, 2]
    y = xp.from_dlpack(Exporter(x))
    y += 1
    assert y.dtype is xp.bfloat16 and x.tolist() == [2, 3]
    capsule = x.__dlpack__()
    xp.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="can be consumed only once"):
        xp.from_dlpack(capsule)


def test_a_capsule_of_a_tensor_that_requires_grad(xp):
    assert xp.from_dlpack(xp.utils.dlpack.to_dlpack(xp.ones(2, requires_grad=True))).tolist() == [1, 1]


class Exporter:
    """An array of another library, which exports the memory of a tensor."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **how):
        return self.tensor.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()
