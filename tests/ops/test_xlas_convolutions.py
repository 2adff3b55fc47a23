"""Convolutions with wrong results in XLA, computed in another form."""
from __future__ import annotations

import jax
import numpy as np
import pytest
from jax import lax

from jtorch.engine import convolutions, threads
from jtorch.engine.threads import ELSEWHERE
from jtorch.ops.nn._conv_config import ConvConfig, library


@pytest.mark.slow
@pytest.mark.parametrize("padding", [(-1, 1), (-2, 1), (-3, 3), (0, 0), (1, -1), (-1, -1), (2, 1)])
@pytest.mark.parametrize("stride", [1, 2])
def test_some_of_the_input_left_out(padding, stride):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((4, 8, 6, 28), np.float32), rng.standard_normal((16, 8, 3, 3), np.float32)

    def with_gradients(convolution, x, w):
        out, back = jax.vjp(convolution, x, w)
        return out, *back(jax.numpy.cos(out))

    def all_at_once(x, w):
        return library(x, w, ConvConfig((1, stride), ((0, 0), padding), (1, 1), (1, 1)))

    def padded_first(x, w):
        moved = lax.pad(x, np.float32(0), [(0, 0, 0)] * 3 + [(*padding, 0)])
        return lax.conv_general_dilated(moved, w, (1, stride), [(0, 0)] * 2)
    lowered = jax.jit(with_gradients, static_argnums=0).lower(all_at_once, x, w)
    found = threads.compiled(lowered, ELSEWHERE, convolutions.options(lowered.as_text()))(x, w)
    for a, b in zip(found, with_gradients(padded_first, x, w), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-3)


LOOP = """
import jtorch as torch
torch.manual_seed(0)
functions = torch.nn.functional
x, w = torch.randn(2, 24, 20, 2, requires_grad=True), torch.randn(1, 24, 2, 5, requires_grad=True)
small, transposed = torch.randn(2, 24, 11, 1, requires_grad=True), torch.randn(24, 1, 2, 5, requires_grad=True)
left_out = torch.randn(5, 8, 4, 10), torch.randn(8, 24, 3, 3)
for _ in range(24):
    y = functions.conv2d(x, w, stride=2, padding=(1, 2)), functions.conv_transpose2d(small, transposed, stride=2, padding=(1, 2))
    z = functions.conv_transpose2d(*left_out, None, (2, 3), 1, (0, 2), 4)
    x.grad = w.grad = small.grad = transposed.grad = None
    (y[0].cos().sum() + y[1].cos().sum()).backward()
    print(*[v.abs().sum().item() for v in (x.grad, w.grad, small.grad, transposed.grad, z)])
"""


@pytest.mark.slow
@pytest.mark.parametrize("onednn", ["0", "1"])
def test_they_do_not_end_the_process(run_forked, onednn):
    """Filters of 2 with stride 2 over a padding of 1, and another dimension larger than its input."""
    found, expected = (run_forked(LOOP, {"JTORCH_ENGINE": mode, "JTORCH_ONEDNN": onednn}).split() for mode in ("hot", "eager"))
    np.testing.assert_allclose([float(a) for a in found], [float(a) for a in expected], rtol=1e-4)
    assert len(set(found)) == 5
