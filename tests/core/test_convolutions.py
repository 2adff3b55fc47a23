"""The choice between XLA:CPU's two ways to compute a program's convolutions."""
from __future__ import annotations

import jax
import numpy as np
import pytest
from jax import lax

from jtorch.engine import convolutions, threads
from jtorch.engine.threads import ELSEWHERE

pytestmark = pytest.mark.core


def _lowered(shape, filters, dtype=np.float32, gradient=False):
    def conv(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), [(1, 1)] * 2)

    def of_filters(x, w):
        return jax.vjp(lambda w: conv(x, w), w)[1](conv(x, w))
    with jax.enable_x64(True):
        sds = [jax.ShapeDtypeStruct(s, dtype) for s in (shape, filters)]
        return jax.jit(of_filters if gradient else conv).lower(*sds)


@pytest.mark.parametrize(("shape", "dtype", "gradient", "chosen"), [
    ((16, 64, 32, 32), np.float32, False, True), ((16, 64, 32, 32), np.float32, True, True),
    ((16, 64, 32, 32), np.float64, False, False),       # Eigen has no convolutions of float64.
    ((4, 64, 8, 8), np.float32, False, True),
    ((4, 64, 32, 32), np.float32, True, True)])
def test_convolutions_of_float32_are_eigens(shape, dtype, gradient, chosen):
    found = convolutions.options(_lowered(shape, (64, 64, 3, 3), dtype, gradient).as_text())
    assert set(found) == set(convolutions.OLDER_LOOPS) | (set(convolutions.EIGEN) if chosen else set())


def test_both_ways_give_the_same():
    lowered, rng = _lowered((16, 64, 32, 32), (64, 64, 3, 3)), np.random.default_rng(0)
    x, w = rng.standard_normal((16, 64, 32, 32), np.float32), rng.standard_normal((64, 64, 3, 3), np.float32)
    np.testing.assert_allclose(threads.compiled(lowered, ELSEWHERE, convolutions.EIGEN)(x, w), lowered.compile()(x, w), rtol=1e-4, atol=1e-3)


def test_an_xla_without_the_option_compiles_as_ever():
    assert threads.compiled(_lowered((16, 64, 32, 32), (64, 64, 3, 3)), ELSEWHERE, {"xla_cpu_no_such_option": "1"}) is not None
