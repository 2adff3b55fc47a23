"""Elementwise steps and reductions of rows that the host computes as one step."""
from __future__ import annotations

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

import jtorch as torch
from jtorch._base.config import ENGINE_MODE
from jtorch.engine import stats
from jtorch.engine.host import fused, trace
from jtorch.engine.host.program import build
from jtorch.ops import _onednn

pytestmark = pytest.mark.skipif(_onednn.version() is None, reason="oneDNN is not installed, or turned off")
F32 = np.float32


def programs(fn, *arrays):
    """Return a function's results, fused and step by step, and the number of fused runs."""
    avals = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        jaxpr, _ = trace(fn, avals)
        before = stats.counters.fused
        together = build(jaxpr)
        count = stats.counters.fused - before
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fused, "is_there", lambda: False)
            apart = build(jaxpr)
    return together(arrays), apart(arrays), count


def compare(fn, *arrays, runs=1, rtol=2e-6, atol=1e-6):
    together, apart, count = programs(fn, *arrays)
    assert count == runs
    for a, b in zip(together, apart, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def normal(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(F32)


def softmax(x):
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x, w, b):
    d = x - x.mean(-1, keepdims=True)
    return d * jax.lax.rsqrt((d * d).mean(-1, keepdims=True) + F32(1e-5)) * w + b


SHAPES = [(7,), (3, 5), (2, 3, 4, 17), (1, 1), (5, 1), (1, 9), (33, 1025), (2000,), (70, 300)]


@pytest.mark.parametrize("shape", SHAPES)
def test_elementwise(shape):
    compare(lambda x, y: (jnp.tanh(x) * y + F32(2) - jnp.exp(-x * x)) / (jnp.abs(y) + F32(1)), normal(*shape), normal(*shape),
            runs=np.prod(shape) > 1)


@pytest.mark.parametrize("shape", [s for s in SHAPES if s[-1] > 1])
def test_softmax(shape):
    compare(softmax, normal(*shape))
    compare(lambda x: jax.nn.log_softmax(x), normal(*shape))


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 4, 17), (1, 9), (33, 1025), (70, 300)])
def test_layer_norm_and_its_gradients(shape):
    w, b, g = normal(shape[-1]), normal(shape[-1]), normal(*shape)
    compare(layer_norm, normal(*shape), w, b)
    together, apart, count = programs(lambda x, w, b, g: jax.vjp(layer_norm, x, w, b)[1](g), normal(*shape), w, b, g)
    assert count
    for found, expected in zip(together, apart, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_numbers_for_each_row_and_each_channel():
    x, channel, row, image = normal(2, 3, 4, 5), normal(3, 1, 1), normal(2, 3, 4, 1), normal(4, 5)
    compare(lambda x, c: jnp.maximum((x - c) * c + c, F32(0)) * x, x, channel)
    compare(lambda x, r: jnp.maximum((x - r) * r + r, F32(0)) * x, x, row)
    compare(lambda x, i: jnp.maximum((x - i) * i + i, F32(0)) * x, x, image)
    compare(lambda x, v: jnp.maximum((x - v) * v + v, F32(0)) * x, x, normal(5))


def test_what_goes_along_other_dims_stays_a_step():
    x = normal(2, 3, 4, 5)
    compare(lambda x, a, b: ((x + a) * a - x * b) * x + x * x, x, normal(2, 1, 4, 1), normal(3, 1, 1), rtol=1e-5, runs=1)
    compare(lambda x, w: jnp.exp(x) * w + x.sum(-1, keepdims=True), x, normal(3, 1, 1), rtol=1e-5)


def test_masks():
    x, y, which = normal(6, 50), normal(6, 50), normal(6, 50) > 0
    compare(lambda x, y: (jnp.where(x > y, x, -y) * y, (x > y) & ~(y < F32(0)), x > y), x, y)
    compare(lambda x, w: (jnp.where(w, x, F32(0)) * F32(2), jnp.where(w, F32(1), F32(0)) + x, w | (x < F32(1))), x, which)
    compare(lambda x, w: jnp.where(w[0], x * x, -jnp.inf) + w.astype(F32), x, which)


def test_several_results_of_which_one_goes_on():
    x = normal(8, 30)
    compare(lambda x: (x * F32(2), jnp.exp(x * F32(2)), jnp.exp(x * F32(2)).sum(-1), x * F32(2) + x.max(-1, keepdims=True)), x)


ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-40, 3e38, -3e38, 1.0, -1.0, 88.7, 88.8, -87.3, -103.9, -104.1], F32)


@pytest.mark.parametrize("fn", [
    lambda x: jnp.exp(x), lambda x: jnp.log(x), lambda x: jnp.tanh(x), lambda x: jax.lax.erf(x), lambda x: jax.nn.sigmoid(x),
    lambda x: jnp.exp(jnp.maximum(x, F32(-1)) + jnp.sign(x)), lambda x: jnp.exp(jnp.clip(x, F32(-2), F32(3))),
    lambda x: jnp.exp(jnp.abs(x)) + jnp.sqrt(x) + x * jax.lax.rsqrt(x), lambda x: jnp.exp(x[None].max(-1)),
    lambda x: jnp.exp(x[None]).min(-1), lambda x: jnp.exp(jnp.floor(x)) + x ** 3 + x ** 4 + x ** -1])
def test_numbers_that_are_odd(fn):
    together, apart, _ = programs(fn, ODD)
    np.testing.assert_allclose(together[0], apart[0], rtol=1e-6, atol=1e-37)
    together, apart, _ = programs(fn, np.tile(ODD, 40))
    np.testing.assert_allclose(together[0], apart[0], rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize(("ours", "exact", "low", "high", "most"), [
    (jnp.exp, np.exp, -87, 88, 2e-7), (jnp.log, np.log, 1e-30, 1e30, 2e-7), (jnp.tanh, np.tanh, -10, 10, 3e-7),
    (jax.nn.sigmoid, scipy.special.expit, -80, 80, 3e-7)])
def test_how_exact_the_functions_are(ours, exact, low, high, most):
    x = np.random.default_rng(0).uniform(low, high, 100_000).astype(F32)
    x = np.concatenate([x, x / F32(100)]) if low < 0 else np.concatenate([x, np.linspace(0.5, 2, 10_000, dtype=F32)])
    found, expected = programs(ours, x)[0][0].astype(float), exact(x.astype(float))
    assert (np.abs(found - expected) <= most * np.abs(expected) + 1e-37).all()


def test_how_exact_erf_is():
    x = np.random.default_rng(0).uniform(-5, 5, 100_000).astype(F32)
    found = programs(jax.lax.erf, x)[0][0].astype(float)
    assert np.abs(found - scipy.special.erf(x.astype(float))).max() < 2e-7


@pytest.mark.parametrize("change", [lambda x: x[:, ::2], lambda x: x.T, lambda x: x[::-1], lambda x: np.broadcast_to(x[:1], x.shape)])
def test_arrays_that_are_not_dense(change):
    x = change(normal(40, 40))
    compare(lambda x, y: softmax(x * y + F32(1)), x, x)


def test_arrays_without_elements():
    compare(lambda x: jnp.exp(x * x + x), np.zeros((0, 4), F32), runs=0)
    assert torch.softmax(torch.ones(3, 0), -1).shape == (3, 0)
    assert torch.nn.functional.layer_norm(torch.ones(0, 4), (4,)).shape == (0, 4)


@pytest.mark.skipif(ENGINE_MODE == "hot", reason="nothing runs on the host")
def test_sizes_that_are_open():
    torch.engine.forget()
    w, b = torch.randn(24), torch.randn(24)
    for length in (5, 7, 9, 12, 15, 18, 21, 1, 2):
        x = torch.randn(2, length, 24)
        found = torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, (24,), w, b))
        d = x.double()
        d = (d - d.mean(-1, keepdim=True)) / (d.var(-1, keepdim=True, correction=0) + 1e-5).sqrt() * w.double() + b.double()
        torch.testing.assert_close(found.double(), torch.nn.functional.gelu(d), rtol=1e-5, atol=1e-5)
        scores = torch.randn(2, 3, length, length)
        torch.testing.assert_close(scores.softmax(-1).double(), scores.double().softmax(-1), rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(ENGINE_MODE == "hot", reason="nothing runs on the host")
def test_the_number_of_threads_does_not_matter():
    x, before = torch.randn(400, 500), torch.get_num_threads()
    found = [torch.softmax(x, -1), torch.nn.functional.gelu(x)]
    torch.set_num_threads(1)
    try:
        assert all(map(torch.equal, found, [torch.softmax(x, -1), torch.nn.functional.gelu(x)]))
    finally:
        torch.set_num_threads(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_in_a_forked_process():
    x = normal(400, 500)
    expected = programs(softmax, x)[0][0]
    child = os.fork()
    if not child:
        os._exit(not np.array_equal(programs(softmax, x)[0][0], expected))
    assert os.waitpid(child, 0)[1] == 0
