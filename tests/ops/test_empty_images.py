"""Images without samples, channels or pixels: results and errors."""
from __future__ import annotations

import pytest
from bodies import written

CALLS = [
    lambda F, ones, zeros: F.grid_sample(ones(2, 0, 3, 3), zeros(2, 2, 2, 2), align_corners=False),
    lambda F, ones, zeros: F.grid_sample(ones(0, 2, 3, 3), zeros(0, 2, 2, 2), align_corners=False),
    lambda F, ones, zeros: F.grid_sample(ones(2, 2, 3, 3), zeros(2, 0, 2, 2), align_corners=False),
    lambda F, ones, zeros: F.grid_sample(ones(1, 1, 0, 3), zeros(1, 2, 2, 2), align_corners=False),
    lambda F, ones, zeros: F.grid_sample(ones(2, 0, 3, 3, 3), zeros(2, 2, 2, 2, 3), mode='nearest', align_corners=True),
    lambda F, ones, zeros: F.grid_sample(ones(0, 2, 3, 3, 3), zeros(0, 2, 2, 2, 3), padding_mode='border',
        align_corners=False),
    lambda F, ones, zeros: F.fold(ones(1, 12, 12), (4, 5), (2, 2), dilation=8),
    lambda F, ones, zeros: F.fold(ones(1, 12, 6), (4, 5), (2, 2)),
    lambda F, ones, zeros: F.avg_pool2d(ones(1, 0, 4, 4), 2),
    lambda F, ones, zeros: F.avg_pool2d(ones(0, 1, 4, 4), 2),
    lambda F, ones, zeros: F.avg_pool2d(ones(1, 1, 0, 4), 2),
    lambda F, ones, zeros: F.max_pool2d(ones(1, 0, 4, 4), 2),
    lambda F, ones, zeros: F.avg_pool2d(ones(0), 2),
]


@pytest.mark.parametrize("call", CALLS, ids=written)
def test_images_of_nothing(same, call):
    same(lambda xp: call(xp.nn.functional, xp.ones, xp.zeros))


def test_their_gradients(xp):
    image, grid = xp.ones(2, 0, 3, 3, requires_grad=True), xp.zeros(2, 2, 2, 2, requires_grad=True)
    xp.nn.functional.grid_sample(image, grid, align_corners=False).sum().backward()
    assert image.grad.shape == image.shape and grid.grad.shape == grid.shape and not grid.grad.any()


def test_convolutions_of_no_channels_have_none(xp):
    F = xp.nn.functional
    assert F.conv1d(xp.ones(2, 0, 3), xp.ones(2, 0, 1), xp.ones(2)).shape == (2, 0, 3)
    assert F.conv2d(xp.ones(2, 0, 5, 5), xp.ones(4, 0, 2, 2), stride=2, padding=1).shape == (2, 0, 3, 3)
    assert F.conv1d(xp.ones(0, 3), xp.ones(2, 0, 1)).shape == (0, 3)
    x, w = xp.ones(2, 0, 3, requires_grad=True), xp.ones(2, 0, 1, requires_grad=True)
    F.conv1d(x, w).sum().backward()
    assert x.grad.shape == x.shape and w.grad.shape == w.shape
    with pytest.raises(RuntimeError, match=r"Only zero batch or zero channel inputs are supported, but got input shape: \[2, 3, 0, 3\]"):
        F.conv2d(xp.ones(2, 3, 0, 3), xp.ones(4, 3, 2, 2), padding=1)
