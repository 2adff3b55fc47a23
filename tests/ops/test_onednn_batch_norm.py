"""Batch norm's sums in C with oneDNN: the numbers and derivatives of the formulas, in all modes."""
from __future__ import annotations

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch import engine
from jtorch._base import accelerated
from jtorch.ops import _onednn
from jtorch.ops._onednn import batch_norm
from jtorch.ops.nn._standardize import standardize

pytestmark = pytest.mark.skipif(_onednn.version() is None, reason="oneDNN is not installed, or turned off")

SHAPES = {
    "images": (4, 16, 16, 16),
    "odd sizes": (3, 5, 37, 19),
    "one image": (1, 64, 20, 9),
    "few places": (9, 256, 2, 2),
    "one dimension": (8, 16, 70),
    "three dimensions": (2, 16, 7, 8, 9),
    "more places than are added up in float32": (3, 2, 70, 71),
    "enough for several threads": (8, 64, 24, 24),
}


@pytest.fixture
def by_formulas(monkeypatch):
    """Return a function that runs with the formulas."""
    def run(function, *arguments):
        with monkeypatch.context() as patched:
            patched.setattr(batch_norm, "normalizes", lambda x, axes: False)
            return function(*arguments)
    return run


def _made(shape):
    generator = np.random.default_rng(0)
    x, w, b, g = (generator.standard_normal(s).astype(np.float32) for s in (shape, shape[1], shape[1], shape))
    sizes = (1, shape[1], *[1] * (len(shape) - 2))
    return x * 2 + 3, w.reshape(sizes), b.reshape(sizes), g


def _normalized(x, w, b, correction=1):
    return standardize(x, w, b, (0, *range(2, x.ndim)), 1e-5, correction)


def _with_gradients(x, w, b, g, of_statistics=0.0):
    made, back = jax.vjp(_normalized, x, w, b)
    return *made, *back((g, *[of_statistics * m for m in made[1:]]))


def _close(found, expected, rtol=1e-4):
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-5 * max(1.0, float(abs(b).max())))


@pytest.mark.parametrize("of_statistics", [0.0, 0.5])
@pytest.mark.parametrize("shape", [
    pytest.param(shape, marks=[pytest.mark.slow] * (name not in ("images", "few places", "one dimension")), id=name)
    for name, shape in SHAPES.items()])
def test_numbers_and_gradients(shape, of_statistics, by_formulas):
    arrays = _made(shape)
    assert batch_norm.normalizes(jax.numpy.asarray(arrays[0]), (0, *range(2, len(shape))))
    for run in (_with_gradients, jax.jit(lambda *a: _with_gradients(*a, of_statistics))):
        given = arrays if run is not _with_gradients else (*arrays, of_statistics)
        _close(run(*given), by_formulas(_with_gradients, *arrays, of_statistics))


@pytest.mark.slow
def test_second_derivatives_and_tangents(by_formulas):
    x, w, b, g = _made((4, 16, 16, 16))

    def derivatives():
        def total(x, w):
            out, back = jax.vjp(lambda x, w: _normalized(x, w, b)[0], x, w)
            return sum([(d ** 2).sum() for d in (out * g, *back(g))])
        of_gradients = jax.grad(total, (0, 1))(x, w)
        return *of_gradients, *jax.jvp(_normalized, (x, w, b), (g, b, w))[1], *jax.jit(jax.grad(total))(x, w)[None]
    _close(derivatives(), by_formulas(derivatives), rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("axes", [(1, None, None, 1), (0, 0, None, None)])
def test_many_at_once(axes, by_formulas):
    arrays = [a if along is None else np.stack([a, 2 * a, a + 1], along)
              for a, along in zip(_made((4, 16, 16, 16)), axes, strict=True)]
    _close(jax.vmap(_with_gradients, axes)(*arrays), by_formulas(jax.vmap(_with_gradients, axes), *arrays))


def test_a_mean_far_from_zero_costs_no_digits():
    x = np.random.default_rng(0).standard_normal((8, 4, 50, 50)).astype(np.float32) + 1000
    exact = x.astype(np.float64)
    _, mean, var = jax.jit(_normalized)(x, None, None)
    np.testing.assert_allclose(mean.ravel(), exact.mean((0, 2, 3)), rtol=1e-7)
    np.testing.assert_allclose(var.ravel(), exact.var((0, 2, 3), ddof=1), rtol=1e-5)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
@pytest.mark.parametrize("place", [0, 5])
def test_what_is_no_number_stays_in_its_channel(value, place):
    x = np.random.default_rng(0).standard_normal((4, 4, 30, 30)).astype(np.float32)
    x[0, 1].ravel()[place] = value
    out, mean, _ = jax.jit(_normalized)(x, None, None)
    np.testing.assert_allclose(mean.ravel(), x.astype(np.float64).mean((0, 2, 3)), rtol=1e-6, atol=1e-7)
    assert np.isfinite(out[:, [0, 2, 3]]).all()


@pytest.mark.slow
def test_the_same_bits_call_by_call_in_a_program_and_with_one_thread(run_forked):
    script = """
import jtorch as torch
torch.set_num_threads({threads})
torch.manual_seed(0)
net = torch.nn.BatchNorm2d(64, momentum=1.0)
x, g = torch.randn(8, 64, 24, 24, requires_grad=True), torch.randn(8, 64, 24, 24)
net(x).backward(g)
print(*[sum([abs(v) for v in t.double().flatten().tolist()]).hex() for t in (net.running_mean, net.running_var, net.weight.grad)])
print(torch.engine.report().counters.batch_norms > 0)
"""
    runs = [run_forked(script.format(threads=threads), {"JTORCH_ENGINE": mode, "JTORCH_CACHE": "0"}).split()
            for threads in (1, 2) for mode in ("eager", "hot")]
    assert runs[0][-1] == "True"
    assert all(run == runs[0] for run in runs)


def test_a_loop_that_becomes_a_program(by_formulas):
    """A net learns the same with the formulas, and the loops in C have run."""
    def trained():
        engine.forget()
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Flatten(),
                                  torch.nn.LazyLinear(2))
        x, y = torch.randn(6, 3, 14, 14), torch.tensor([0, 1] * 3)
        net(x)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
        for _ in range(24):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x.transpose(2, 3)), y).backward()
            optimizer.step()
        return [t.detach().numpy() for t in (*net.parameters(), *net.buffers())]
    before = engine.report().counters.batch_norms
    found = trained()
    assert engine.report().counters.batch_norms > before
    expected = by_formulas(trained)
    engine.forget()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_what_is_left_to_the_formulas():
    x = jax.numpy.zeros((4, 16, 16, 16), np.float32)
    assert batch_norm.normalizes(x, (0, 2, 3))
    for other, axes in ((x, (2, 3)), (x.astype("float16"), (0, 2, 3)), (x[0, 0], (0,)), (x[:1, :1], (0, 2, 3)),
                        (x.reshape(4 * 16 * 16, 16, 1), (0, 2))):
        assert not batch_norm.normalizes(other, axes)
    with accelerated.traced_for(is_mesh=True):
        assert not batch_norm.normalizes(x, (0, 2, 3))
    with accelerated.traced_for_others():
        assert not batch_norm.normalizes(x, (0, 2, 3))
