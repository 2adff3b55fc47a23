"""The arguments of from_dlpack, and the memory shared by its result."""
from __future__ import annotations

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
