"""interpolate of bytes equals PyTorch's to the last pixel. PyTorch computes it in integers."""
from __future__ import annotations

import numpy as np
import pytest

import jtorch


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("size", [(20, 24), (50, 17), (37, 90), (5, 3)])
def test_bytes(torch, rng, mode, antialias, align_corners, size):
    picture = rng.integers(0, 256, (1, 3, 37, 45)).astype(np.uint8)
    found, expected = (xp.nn.functional.interpolate(xp.from_numpy(picture), size=size, mode=mode, antialias=antialias,
                                                    align_corners=align_corners).numpy() for xp in (jtorch, torch))
    np.testing.assert_array_equal(found, expected)


def test_tensor_split_by_name(xp):
    x = xp.arange(6.0)
    assert [t.tolist() for t in xp.tensor_split(x, indices=(-1,))] == [[0, 1, 2, 3, 4], [5]]
    assert [t.tolist() for t in x.tensor_split(sections=2)] == [[0, 1, 2], [3, 4, 5]]
