"""``dtype=`` accepts torch dtypes and Python's types. It refuses NumPy's dtypes and names of dtypes."""
from __future__ import annotations

import numpy as np
import pytest

CALLS = {
    "zeros": lambda t, d: t.zeros(2, dtype=d),
    "arange": lambda t, d: t.arange(3, dtype=d),
    "full": lambda t, d: t.full((2,), 1, dtype=d),
    "sum": lambda t, d: t.ones(2).sum(dtype=d),
    "new_zeros": lambda t, d: t.ones(2).new_zeros(2, dtype=d),
    "tensor": lambda t, d: t.tensor([1.], dtype=d),
    "empty_like": lambda t, d: t.empty_like(t.ones(2), dtype=d),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("given", ["float32", np.float32, np.dtype("float32"), 3])
def test_what_is_no_dtype(call, given, xp):
    with pytest.raises(TypeError):
        CALLS[call](xp, given)


@pytest.mark.parametrize("call", CALLS)
def test_python_types(call, xp):
    assert CALLS[call](xp, float).dtype is xp.float64
    assert CALLS[call](xp, int).dtype is xp.int64
