"""The GPU kernels of attention, in Pallas's interpreter, against the formula."""
from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
from process_programs import virtual_devices

import jtorch as torch
from jtorch.ops.nn import fused_attention

fn = torch.nn.functional


@pytest.fixture
def interpreted(monkeypatch):
    """Use the kernels wherever they fit, and return their calls."""
    taken = []

    def kernels(fused, formula, *arrays):
        taken.append(len(arrays))
        return functools.partial(fused, interpret=True)(*arrays)
    monkeypatch.setattr(fused_attention, "chosen", kernels)
    monkeypatch.setattr(fused_attention, "are_there", lambda: True)
    torch.engine.forget()
    torch.set_float32_matmul_precision("high")
    yield taken
    torch.set_float32_matmul_precision("highest")
    torch.engine.forget()


def _inputs(*size, dtype=torch.float32):
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(size, generator=generator).to(dtype).requires_grad_() for _ in range(3)]


def _all_of(of, inputs):
    """Return a result and the gradients of its inputs."""
    out = of(*inputs)
    weight = torch.linspace(-1, 1, out.numel()).reshape(out.shape).to(out.dtype)
    return [x.detach().double().numpy() for x in (out, *torch.autograd.grad(out, inputs, weight))]


def _expected(inputs, **how):
    doubles = [x.detach().double().requires_grad_() for x in inputs]     # No kernel accepts float64.
    return _all_of(lambda *x: fn.scaled_dot_product_attention(*x, **how), doubles)


@pytest.mark.parametrize("size", [(2, 3, 128, 32), *[pytest.param(s, marks=pytest.mark.slow) for s in ((1, 256, 64), (1, 2, 2, 128, 128))]])
@pytest.mark.parametrize("is_causal", [False, True])
def test_kernels_give_what_the_formula_gives(interpreted, size, is_causal):
    inputs = _inputs(*size)
    how = {"is_causal": is_causal, "scale": 0.3}
    for found, expected in zip(_all_of(lambda *x: fn.scaled_dot_product_attention(*x, **how), inputs), _expected(inputs, **how),
                               strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert sorted(set(interpreted)) == [3, 6]  # The kernels get q, k and v, and then also the results and the gradient.


@pytest.mark.slow
def test_sixteen_bits(interpreted):
    inputs = _inputs(1, 2, 128, 32, dtype=torch.bfloat16)
    for found, expected in zip(_all_of(fn.scaled_dot_product_attention, inputs), _expected(inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0.05, atol=0.02)
    assert interpreted


def test_grouped_queries(interpreted):
    q, k, v = _inputs(1, 4, 128, 32)
    few = [x[:, :2].detach().requires_grad_() for x in (k, v)]
    how = {"is_causal": True, "enable_gqa": True}
    found = _all_of(lambda *x: fn.scaled_dot_product_attention(*x, **how), [q, *few])
    for a, b in zip(found, _expected([q, *few], **how), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    assert interpreted


@pytest.mark.slow
def test_second_derivatives_and_forward_mode(interpreted):
    """The formula computes these, since a kernel cannot."""
    inputs = _inputs(1, 1, 128, 32)

    def second(*x):
        out = fn.scaled_dot_product_attention(*x, is_causal=True)
        gradients = torch.autograd.grad((out ** 2).sum(), x, create_graph=True)
        return torch.autograd.grad(sum((g ** 2).sum() for g in gradients), x)

    doubles = [x.detach().double().requires_grad_() for x in inputs]
    for a, b in zip(second(*inputs), second(*doubles), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-3, atol=1e-3)
    tangents = [torch.ones_like(x) for x in inputs]
    found, expected = (torch.func.jvp(fn.scaled_dot_product_attention, tuple(x.detach() for x in given),
                                      tuple(t.to(given[0].dtype) for t in tangents))[1] for given in (inputs, doubles))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-3, atol=1e-3)
    assert interpreted


def test_the_modules_take_them(interpreted):
    """MultiheadAttention without weights uses the kernels, and so do the layers of a Transformer."""
    torch.manual_seed(0)
    attention = torch.nn.MultiheadAttention(64, 2, batch_first=True)
    x = torch.randn(2, 128, 64)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(128)
    found = attention(x, x, x, need_weights=False, attn_mask=mask, is_causal=True)[0]
    assert interpreted
    expected = attention(x, x, x, need_weights=True, attn_mask=mask)[0]
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [(1, 2, 100, 32), (1, 2, 128, 24), (128, 32)])
def test_what_does_not_fit_goes_by_the_formula(interpreted, size):
    _all_of(fn.scaled_dot_product_attention, _inputs(*size))
    assert not interpreted


def test_exact_products_go_by_the_formula(interpreted):
    torch.set_float32_matmul_precision("highest")
    _all_of(fn.scaled_dot_product_attention, _inputs(1, 1, 128, 32))
    assert not interpreted


def test_a_cpu_takes_the_formula(monkeypatch):
    """A process with a GPU does the same for work on the CPU."""
    monkeypatch.setattr(fused_attention, "fits", lambda *_: True)
    def plain(q, k, v):
        return q + k + v
    q = jax.numpy.ones((1, 1, 128, 32))
    out, pull = jax.vjp(lambda *x: fused_attention.attention(plain, 1.0, False, *x), q, q, q)
    assert out[0, 0, 0, 0] == 3 and all(float(g.sum()) == q.size for g in pull(q))


def test_sizes_that_are_left_open_go_by_the_formula(interpreted):
    """Sequences that grow have open sizes, and the kernels need whole blocks."""
    with torch.no_grad():
        for n in range(120, 136):
            q = torch.linspace(-1, 1, n * 32).reshape(1, 1, n, 32)
            found = fn.scaled_dot_product_attention(q, q, q, is_causal=True)
            np.testing.assert_allclose(found.numpy(), fn.scaled_dot_product_attention(*[q.double()] * 3, is_causal=True).numpy(),
                                       rtol=1e-4, atol=1e-5)


ON_A_MESH = """
import jtorch as torch
from jtorch._base import accelerated
from jtorch.distributed.device_mesh import init_device_mesh
from jtorch.distributed.tensor import Shard, distribute_tensor
from jtorch.ops.nn import fused_attention
seen = []
fused_attention.are_there = lambda: bool(seen.append(accelerated.is_spread()))
q = torch.randn(2, 2, 128, 32)
attend = torch.nn.functional.scaled_dot_product_attention
expected = attend(q, q, q)
assert seen and not any(seen)
spread = distribute_tensor(q, init_device_mesh("cpu", (2,)), [Shard(0)])
for _ in range(10):
    found = attend(spread, spread, spread).full_tensor()
assert any(seen) and not accelerated.is_spread()
assert (found - expected).abs().max().item() < 1e-5
"""


def test_what_is_spread_over_a_mesh_goes_by_the_formula(run_forked):
    """XLA can partition the formula."""
    run_forked(ON_A_MESH, virtual_devices(2))
