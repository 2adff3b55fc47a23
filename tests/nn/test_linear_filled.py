"""Products padded with zeros, so that their rows begin at addresses for a GPU's 16-byte loads."""
from __future__ import annotations

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch.ops.nn import linear


@pytest.fixture
def filled(monkeypatch):
    """Pad as on a GPU with TF32, from 6 features on."""
    monkeypatch.setattr(linear, "is_accelerated", lambda: True)
    monkeypatch.setattr(linear, "MANY", 6)
    torch.set_float32_matmul_precision("high")
    torch.engine.forget()
    yield
    torch.set_float32_matmul_precision("highest")
    torch.engine.forget()


def _found(features: int, dtype: torch.dtype = torch.float32) -> list[np.ndarray]:
    generator = torch.Generator().manual_seed(0)
    x, w, b = (torch.randn(s, generator=generator).to(dtype).requires_grad_() for s in ((2, 3, 8), (features, 8), (features,)))
    out = torch.nn.functional.linear(x, w, b)
    gradients = torch.autograd.grad(out, (x, w, b), torch.linspace(-1, 1, out.numel()).reshape(out.shape).to(dtype))
    return [t.detach().numpy() for t in (out, *gradients)]


@pytest.mark.parametrize("features", [4, 5, 7, 8, 9])
def test_results_and_gradients_are_the_same(filled, features):
    for found, expected in zip(_found(features), _found(features, torch.float64), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    product = str(jax.make_jaxpr(lambda x, w: linear._product(x, w, np.dtype(np.float32)))(
        np.ones((2, 8), np.float32), np.ones((features, 8), np.float32)))
    assert ("pad" in product) == (features in (7, 9))


def test_second_derivatives_and_forward_mode(filled):
    """A function with its own backward adds the bias."""
    x, w, b = (torch.linspace(-1, 1, n).reshape(s).requires_grad_() for n, s in ((6, (2, 3)), (12, (4, 3)), (4, (4,))))

    def first(b):
        return torch.autograd.grad((torch.nn.functional.linear(x, w, b) ** 3).sum(), b, create_graph=True)[0]
    gradient, = torch.autograd.grad(first(b).sum(), b)
    expected = 6 * torch.nn.functional.linear(x, w, b).sum(0)
    np.testing.assert_allclose(gradient.detach().numpy(), expected.detach().numpy(), rtol=1e-5)
    tangent = torch.func.jvp(lambda b: torch.nn.functional.linear(x, w, b), (b.detach(),), (torch.ones(4),))[1]
    np.testing.assert_array_equal(tangent.detach().numpy(), np.ones((2, 4), np.float32))
