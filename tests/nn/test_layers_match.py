"""Layers against PyTorch: text, same-seed weights, one forward and backward, the state dict."""
from __future__ import annotations

import numpy as np
import pytest

LAYERS = [
    ("nn.Linear(5, 3)", (2, 5)), ("nn.Conv2d(2, 4, 3, padding=1)", (1, 2, 5, 5)),
    ("nn.Conv1d(2, 4, 3, padding='same', padding_mode='circular')", (1, 2, 6)), ("nn.BatchNorm2d(3)", (2, 3, 4, 4)),
    ("nn.BatchNorm1d(3)", (4, 3)), ("nn.LayerNorm(5)", (2, 5)), ("nn.GroupNorm(2, 4)", (2, 4, 3)),
    ("nn.MaxPool2d(2)", (1, 2, 4, 4)), ("nn.AvgPool2d(2)", (1, 2, 4, 4)), ("nn.AdaptiveAvgPool2d(1)", (1, 2, 4, 4)),
    ("nn.Dropout(0.5)", (4, 5)), ("nn.Flatten()", (2, 3, 4)), ("nn.Softmax(dim=1)", (3, 4)), ("nn.LogSoftmax(dim=1)", (3, 4)),
    ("nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))", (3, 4)),
    *((f"nn.{name}()", (3, 4)) for name in "Sigmoid Tanh LogSigmoid Softsign Tanhshrink ReLU SiLU Mish SELU Hardsigmoid "
      "Hardswish Hardtanh ReLU6 ELU CELU LeakyReLU GELU GLU Hardshrink Softshrink Softplus PReLU".split()),
]


def observed(xp, source, shape):
    xp.manual_seed(0)
    layer = eval(source, {"nn": xp.nn})
    x = xp.tensor(np.random.RandomState(0).randn(*shape).astype("float32"), requires_grad=True)
    start = [p.detach().numpy().copy() for p in layer.parameters()]
    y = layer(x)
    (y * y).sum().backward()
    arrays = [*start, y.detach().numpy(), x.grad.numpy(), *(p.grad.numpy() for p in layer.parameters()),
              *(v.numpy() for v in layer.state_dict().values())]
    return repr(layer), list(layer.state_dict()), arrays


@pytest.mark.conformance
@pytest.mark.parametrize(("source", "shape"), LAYERS, ids=[s for s, _ in LAYERS])
def test_layer(torch, source, shape):
    import jtorch
    wanted, found = observed(torch, source, shape), observed(jtorch, source, shape)
    assert found[:2] == wanted[:2]
    for a, b in zip(found[2], wanted[2], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
