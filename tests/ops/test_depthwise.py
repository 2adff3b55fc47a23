"""Depthwise convolutions by their formula, against the convolution of each channel by itself."""
from __future__ import annotations

import numpy as np
import pytest

CASES = [  # size, kernel, stride, padding, dilation
    ((9,), (3,), 1, 1, 1),
    ((9, 8), (3, 3), 2, 1, 1),
    ((9, 8), (3, 2), 1, "same", 2),
    ((12, 12), (5, 5), (2, 1), (0, 2), (1, 2)),
    ((5, 6, 4), (2, 2, 2), 1, 0, 1),
]


def tensors(xp, *shapes):
    rng = np.random.default_rng(0)
    return [xp.tensor(rng.standard_normal(s), requires_grad=True) for s in shapes]


@pytest.mark.parametrize(("size", "kernel", "stride", "padding", "dilation"), CASES)
@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
def test_each_channel_is_convolved_by_itself(xp, size, kernel, stride, padding, dilation):
    conv = getattr(xp.nn.functional, f"conv{len(size)}d")
    x, w, b = tensors(xp, (2, 3, *size), (3, 1, *kernel), (3,))
    together = conv(x, w, b, stride, padding, dilation, 3)
    single = xp.cat([conv(x[:, i:i + 1], w[i:i + 1], b[i:i + 1], stride, padding, dilation) for i in range(3)], 1)
    assert together.shape == single.shape
    assert xp.allclose(together, single)
    g = xp.tensor(np.random.default_rng(1).standard_normal(together.shape))
    for a, c in zip(xp.autograd.grad(together, (x, w, b), g), xp.autograd.grad(single, (x, w, b), g), strict=True):
        assert xp.allclose(a, c)


def test_sixteen_bits_add_up_in_float32(xp):
    x = xp.full((1, 2, 20), 1.0, dtype=xp.bfloat16)
    w = xp.full((2, 1, 20), 1 / 3, dtype=xp.bfloat16)
    out = xp.nn.functional.conv1d(x, w, groups=2)
    assert out.dtype == xp.bfloat16
    assert out.flatten().tolist() == [6.6875, 6.6875]
