"""Convolutions by oneDNN: numbers, derivatives of all kinds, and refused kinds."""
from __future__ import annotations

import jax
import numpy as np
import pytest
from lanes import cases

import jtorch as torch
from jtorch import engine
from jtorch._base import accelerated
from jtorch.ops import _onednn
from jtorch.ops._onednn import library as loaded
from jtorch.ops.nn._conv_config import ConvConfig, library
from jtorch.ops.nn._convolve import convolve

pytestmark = pytest.mark.skipif(_onednn.version() is None, reason="oneDNN is not installed, or turned off")

# Input, filters, stride, padding, dilation, groups.
GEOMETRIES = {
    "plain": ((4, 16, 14, 14), (16, 16, 3, 3), 1, 1, 1, 1),
    "odd sizes": ((3, 5, 17, 19), (7, 5, 3, 2), 2, 1, 1, 1),
    "dilated": ((2, 16, 16, 16), (16, 16, 3, 3), 1, 2, 2, 1),
    "8 groups": ((2, 64, 9, 9), (64, 8, 3, 3), 1, 1, 1, 8),
    "depthwise": ((4, 32, 14, 14), (32, 1, 3, 3), 1, 1, 1, 32),
    "depthwise with two filters a channel": ((4, 32, 14, 14), (64, 1, 5, 5), 2, 2, 1, 32),
    "few channels a group": ((4, 32, 14, 14), (32, 4, 3, 3), 1, 1, 1, 8),
    "one dimension": ((4, 32, 64), (32, 32, 5), 1, 2, 1, 1),
    "three dimensions": ((1, 8, 6, 8, 8), (8, 8, 3, 3, 3), 1, 1, 1, 1),
    "filters larger than the padded volume": ((2, 32, 6, 2, 3), (7, 32, 7, 4, 2), (2, 2, 1), ((3, 3), (2, 2), (0, 0)), (1, 1, 2), 1),
    "one channel": ((8, 1, 28, 28), (16, 1, 5, 5), 1, 2, 1, 1),
    "more padding behind": ((2, 16, 12, 12), (16, 16, 4, 4), 1, ((1, 2), (1, 2)), 1, 1),
    "strided with padding": ((2, 3, 32, 32), (64, 3, 7, 7), 2, 3, 1, 1),
    # These are large enough for several threads. Each thread computes some images, or a share of each image.
    "in even shares": ((4, 32, 20, 20), (32, 32, 3, 3), 1, 1, 1, 1),
    "in uneven shares": ((33, 16, 14, 14), (16, 16, 3, 3), 1, 1, 1, 1),
    "of one image": ((1, 32, 40, 40), (32, 32, 3, 3), 1, 1, 1, 1),
    "depthwise of 7x7 taps, in shares": ((4, 32, 20, 20), (32, 1, 7, 7), 1, 3, 1, 32),
    "in shares and groups": ((16, 32, 14, 14), (64, 8, 3, 3), 1, 1, 1, 4),
}


def _made(name):
    size, filters, stride, padding, dilation, groups = GEOMETRIES[name]
    n = len(size) - 2
    generator = np.random.default_rng(0)
    x, weight = (generator.standard_normal(shape).astype(np.float32) for shape in (size, filters))
    stride, dilation = (v if isinstance(v, tuple) else (v,) * n for v in (stride, dilation))
    config = ConvConfig(stride, padding if isinstance(padding, tuple) else ((padding, padding),) * n, dilation, (1,) * n)
    return x, weight, config, groups


def _by_onednn(config, groups):
    return lambda x, weight: convolve(x, weight, config.stride, config.padding, config.dilation, groups)


def _by_xla(config, groups):
    return lambda x, weight: library(x, weight, config, groups)


def _close(found, expected):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-3)


def _with_gradients(function, x, weight):
    out, back = jax.vjp(function, x, weight)
    return out, *back(jax.numpy.cos(out))


FAST = {"plain", "odd sizes", "depthwise", "one dimension", "in uneven shares"}


@pytest.mark.parametrize("name", cases(GEOMETRIES, FAST))
def test_numbers_and_gradients(name):
    x, weight, config, groups = _made(name)
    for run in (_with_gradients, jax.jit(_with_gradients, static_argnums=0)):
        found, expected = (run(make(config, groups), x, weight) for make in (_by_onednn, _by_xla))
        for a, b in zip(found, expected, strict=True):
            _close(a, b)


def test_filter_gradients_of_small_groups():
    """These are C++ loops for kinds without a fast oneDNN kernel, with random sizes, strides, paddings and dilations."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        n, groups, inputs, outputs = rng.integers([1, 2, 1, 1], [3, 6, 5, 5]).tolist()
        size, taps, stride, dilation = (rng.integers(low, high, n).tolist() for low, high in ((9, 20), (1, 6), (1, 4), (1, 3)))
        padding = [tuple(pair) for pair in rng.integers(0, 4, (n, 2)).tolist()]
        x = rng.standard_normal((2, groups * inputs, *size))
        weight = rng.standard_normal((groups * outputs, inputs, *taps))
        config = ConvConfig(tuple(stride), tuple(padding), tuple(dilation), (1,) * n)
        shape = (2, groups * outputs, *config.out_size(tuple(size), tuple(taps)))
        geometry = _onednn.Geometry(x.shape, weight.shape, shape, config, groups)
        if min(shape) < 1 or not _onednn.is_quick(_onednn.FILTERS, geometry):
            continue
        y = rng.standard_normal(shape)
        found = _onednn.host_function(_onednn.FILTERS, geometry)(x.astype(np.float32), y.astype(np.float32))
        with jax.enable_x64(True):
            _, back = jax.vjp(lambda w, x=x, config=config, groups=groups: library(x, w, config, groups), weight)
            expected = back(y)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "depthwise", "strided with padding"])
def test_second_derivatives_and_tangents(name):
    x, weight, config, groups = _made(name)

    def of_gradients(make):
        def total(x, weight):
            return sum([(g ** 2).sum() for g in _with_gradients(make(config, groups), x, weight)])
        tangents = jax.jvp(make(config, groups), (x, weight), (weight.mean() * x, weight))
        return *jax.grad(total, (0, 1))(x / 8, weight / 8), *tangents
    for a, b in zip(of_gradients(_by_onednn), of_gradients(_by_xla), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3 * float(abs(b).max()))


@pytest.mark.slow
@pytest.mark.parametrize("by", ["images", "filters", "both"])
def test_many_at_once(by):
    x, weight, config, groups = _made("plain")
    xs = np.stack([x, 2 * x, x + 1], 1) if by != "filters" else x
    weights = np.stack([weight, 2 * weight, -weight]) if by != "images" else weight
    axes = (1 if by != "filters" else None, 0 if by != "images" else None)
    found, expected = (jax.vmap(lambda x, w, make=make: _with_gradients(make(config, groups), x, w), axes)(xs, weights)
                       for make in (_by_onednn, _by_xla))
    for a, b in zip(found, expected, strict=True):
        _close(a, b)


def test_images_of_a_batch_are_one_convolution():
    x, weight, config, groups = _made("plain")
    made = jax.make_jaxpr(jax.vmap(_by_onednn(config, groups), (0, None)))(np.stack([x, x]), weight)
    assert [e.params["geometry"].input[0] for e in made.eqns if e.primitive.name == "onednn_convolution"] == [8]


@pytest.mark.parametrize(("stride", "padding", "output_padding", "groups"), [(1, 0, 0, 1), (2, 1, 1, 1), (3, 1, 2, 4)])
def test_transposed(monkeypatch, stride, padding, output_padding, groups):
    def results():
        engine.forget()
        torch.manual_seed(0)
        x = torch.randn(4, 16, 9, 9, requires_grad=True)
        weight = torch.randn(16, 12 // groups, 4, 4, requires_grad=True)
        y = torch.nn.functional.conv_transpose2d(x, weight, None, stride, padding, output_padding, groups)
        y.cos().sum().backward()
        return [t.detach().numpy() for t in (y, x.grad, weight.grad)]
    before = engine.report().counters.onednn
    found = results()
    assert engine.report().counters.onednn > before or groups > 1       # Groups need kernels that some processors lack.
    monkeypatch.setattr(_onednn.convolution.library, "version", lambda: None)
    expected = results()
    engine.forget()
    for a, b in zip(found, expected, strict=True):
        _close(a, b)


LOOP = """
import jtorch as torch
from jtorch.engine import policy
policy.FOREGROUND = float("inf")        # nothing is compiled in the background, which may last longer than the loop
torch.manual_seed(0)
nn = torch.nn
{made}
for _ in range(24):
    loss = loss_of(net(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
counters = torch.engine.report().counters
print(counters.{counter} > 0, counters.program_runs > 0)
"""
CONVOLUTIONS = LOOP.format(counter="onednn", made="""
net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 8, 3, stride=2))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
x = torch.randn(8, 3, 32, 32)
loss_of = lambda out: out.square().mean()""")
PRODUCTS = LOOP.format(counter="onednn_products", made="""
net = nn.Sequential(nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True), nn.Linear(64, 64))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
x = torch.randn(16, 32, 64)
loss_of = lambda out: (out - x.flip(1)).square().mean()""")


@pytest.mark.slow
@pytest.mark.parametrize(("text", "rtol"), [(CONVOLUTIONS, 1e-4), (PRODUCTS, 1e-3)], ids=["convolutions", "products"])
def test_a_loop_has_the_same_bits_in_each_run(run_forked, text, rtol):
    first, second = (run_forked(text, {"JTORCH_ENGINE": "auto"}).split() for _ in range(2))
    assert first == second
    assert first[-2:] == ["True", "True"]
    other = run_forked(text, {"JTORCH_ENGINE": "auto", "JTORCH_ONEDNN": "0"}).split()
    assert other[-2:] == ["False", "True"]
    np.testing.assert_allclose(*[[float.fromhex(x) for x in lines[:-2]] for lines in (first, other)], rtol=rtol)


@pytest.mark.slow
@pytest.mark.parametrize("text", [CONVOLUTIONS, PRODUCTS], ids=["convolutions", "products"])
def test_a_second_process_reads_the_program(run_forked, tmp_path, text):
    text += "print(counters.read_untraced)"
    first, second = (run_forked(text, {"JTORCH_ENGINE": "auto", "JTORCH_CACHE": str(tmp_path)}).split() for _ in range(2))
    assert first[:-1] == second[:-3] + first[-3:-1]     # A program from disk does not report its custom calls.
    assert int(second[-1]) > 0


def test_small_and_whole_numbers_stay():
    x, weight, config, groups = _made("plain")
    geometry = _onednn.Geometry(x.shape, weight.shape, x.shape, config, groups)
    assert _onednn.takes(x, geometry)
    assert not _onednn.takes(x.astype(np.float64), geometry)
    assert not _onednn.takes(x, geometry._replace(result=(1, 16, 2, 2)))       # There is too little work.
    with accelerated.traced_for_others():
        assert not _onednn.takes(x, geometry)
    with accelerated.traced_for(True):
        assert not _onednn.takes(x, geometry)


def test_threads():
    """The numbers are equal up to the order of sums."""
    x, weight, config, groups = _made("strided with padding")
    expected = _by_onednn(config, groups)(x, weight)
    loaded.use_threads(1)
    try:
        _close(_by_onednn(config, groups)(x, weight), expected)
    finally:
        loaded.use_threads(0)


FORKED = """
import os
import jtorch as torch
x, weight = torch.randn(8, 32, 28, 28), torch.randn(32, 32, 3, 3)
expected = torch.nn.functional.conv2d(x, weight)
expected.sum().item()
child = os.fork()
if child == 0:
    same = torch.allclose(torch.nn.functional.conv2d(x, weight), expected, atol=1e-3)
    os._exit(0 if same else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), torch.engine.report().counters.onednn > 0)
"""


def test_a_forked_process_has_one_thread(run_forked):
    """A forked process lacks OpenMP's other threads, and OpenMP would wait for them."""
    assert run_forked(FORKED, {"OMP_NUM_THREADS": "2"}).split() == ["0", "True"]


def test_without_the_library(monkeypatch):
    monkeypatch.setattr(loaded, "_installed", lambda: None)
    assert loaded._library.__wrapped__() is None
    monkeypatch.setattr(loaded, "_installed", lambda: loaded._built())      # This library is not oneDNN.
    assert loaded._library.__wrapped__() is None


def test_mkldnn_is_available():
    assert torch.backends.mkldnn.is_available()


@pytest.mark.parametrize("name", ["conv1d", "conv_transpose1d"])
def test_one_trace_for_all_lengths_has_the_bits_of_one_for_each(name):
    function = getattr(torch.nn.functional, name)
    torch.manual_seed(0)
    weight = torch.randn(16, 16, 5, requires_grad=True)
    inputs = [torch.randn(4, 16, n) for n in range(40, 100, 10)]

    def results(forgets):
        found = []
        for x in inputs:
            if forgets:
                engine.forget()
            y = function(x, weight, padding=2)
            found += [y.detach().numpy(), torch.autograd.grad(y, weight, y.detach())[0].numpy()]
        return found
    engine.forget()
    before = engine.report().counters
    together = results(forgets=False)
    after = engine.report().counters
    assert after.open_sizes > before.open_sizes
    assert after.onednn - before.onednn >= 2 * len(inputs)
    for a, b in zip(together, results(forgets=True), strict=True):
        np.testing.assert_array_equal(a, b)
