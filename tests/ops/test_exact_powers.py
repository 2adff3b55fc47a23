"""Powers and logarithms of whole exponents are exact on every path, since ``int(torch.log2(x))`` depends on it."""
from __future__ import annotations

import numpy as np
import pytest

from jtorch._base.config import ENGINE_MODE

MANY = 30_000       # The host leaves this many elements to a compiled kernel.


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_powers_of_two(dtype, xp):
    exponents = np.arange(-14., 16)
    for values in (exponents, np.resize(exponents, MANY)):
        x = xp.tensor(values, dtype=getattr(xp, dtype))
        assert xp.equal(xp.exp2(x), xp.ldexp(xp.ones_like(x), x))
        assert xp.exp2(x).tolist() == np.exp2(values).tolist()
        assert xp.log2(xp.exp2(x)).tolist() == values.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logarithms_of_powers_of_ten(dtype, xp):
    exponents = np.arange(0., 11)
    for values in (exponents, np.resize(exponents, MANY)):
        assert xp.log10(xp.tensor(10. ** values, dtype=getattr(xp, dtype))).tolist() == values.tolist()


def test_edges_and_gradients(torch, xp):
    values = [0., -0., -1., float("inf"), float("-inf"), float("nan"), 3., 0.1, 1023.5, 1025.]
    if ENGINE_MODE != "hot":
        values += [1e-310, 1e308]       # XLA flushes subnormal numbers to 0.
    expected, x = torch.tensor(values, dtype=torch.float64).requires_grad_(), xp.tensor(values, dtype=xp.float64).requires_grad_()
    for name in ("exp2", "log2", "log10"):
        for grad in (False, True):
            found = []
            for lib, t in ((torch, expected), (xp, x)):
                y = getattr(lib, name)(t)
                found.append((lib.autograd.grad(y.sum(), t)[0] if grad else y.detach()).numpy())
            np.testing.assert_allclose(found[1], found[0], rtol=1e-14, err_msg=f"{name} {grad}")
