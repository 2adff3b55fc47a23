"""torchvision's operators against plain NumPy loops, and their gradients against differences."""
from __future__ import annotations

import math

import numpy as np
import pytest

import jtorch as torch
from jtorch._vision.registered import LIBRARY

ops = torch.ops.torchvision
assert LIBRARY is not None


def bilinear(image, y, x, low=-1.0):
    """Return a bilinear sample of an image (H, W); 0 for a point outside by a pixel or more."""
    height, width = image.shape
    if y < low or y > height or x < low or x > width:
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    dy, dx = y - y0, x - x0
    return ((1 - dy) * (1 - dx) * image[y0, x0] + (1 - dy) * dx * image[y0, x1] + dy * (1 - dx) * image[y1, x0]
            + dy * dx * image[y1, x1])


def roi_mean(image, roi, scale, bins, ratio, offset, smallest):
    """Return the bins of one channel: means of samples."""
    x0, y0, x1, y1 = roi * scale - offset
    size = max(y1 - y0, smallest), max(x1 - x0, smallest)
    steps = [n / b for n, b in zip(size, bins, strict=True)]
    counts = [ratio if ratio > 0 else math.ceil(s) for s in steps]
    made = np.zeros(bins)
    for i, j in np.ndindex(*bins):
        samples = [bilinear(image, y0 + (i + (a + 0.5) / counts[0]) * steps[0], x0 + (j + (b + 0.5) / counts[1]) * steps[1])
                   for a in range(counts[0]) for b in range(counts[1])]
        made[i, j] = sum(samples) / max(len(samples), 1)
    return made


@pytest.fixture
def image(rng):
    return rng.standard_normal((2, 8, 7, 9))


@pytest.fixture
def rois(rng):
    corners = rng.uniform(-2, 12, (5, 2))
    ends = corners + rng.uniform(0.5, 8, (5, 2))
    return np.concatenate([rng.integers(0, 2, (5, 1)), corners, ends], 1)


@pytest.mark.parametrize("ratio", [-1, 1, 2])
@pytest.mark.parametrize("aligned", [True, False])
def test_roi_align(image, rois, ratio, aligned):
    found = ops.roi_align(torch.from_numpy(image), torch.from_numpy(rois), 0.7, 3, 2, ratio, aligned)
    expected = [[roi_mean(image[int(r[0]), c], r[1:], 0.7, (3, 2), ratio, 0.5 * aligned, 0 if aligned else 1) for c in range(8)]
                for r in rois]
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


def test_ps_roi_align(image, rois):
    found, mapping = ops.ps_roi_align(torch.from_numpy(image), torch.from_numpy(rois), 0.7, 2, 2, 2)
    for k, c, i, j in np.ndindex(*found.shape):
        channel = (c * 2 + i) * 2 + j
        assert mapping[k, c, i, j] == channel
        expected = roi_mean(image[int(rois[k, 0]), channel], rois[k, 1:], 0.7, (2, 2), 2, 0.5, 0)[i, j]
        assert math.isclose(found[k, c, i, j].item(), expected, abs_tol=1e-12)


def test_roi_pool(image):
    rois = np.array([[1, 1.0, 2, 6, 5], [0, 20, 20, 30, 30]])
    found, argmax = ops.roi_pool(torch.from_numpy(image), torch.from_numpy(rois), 1.0, 2, 2)
    for c, i, j in np.ndindex(8, 2, 2):
        rows, columns = slice(2 + 2 * i, 4 + 2 * i), slice(1 + 3 * j, 4 + 3 * j)
        assert found[0, c, i, j] == image[1, c, rows, columns].max()
        assert image[1, c].ravel()[argmax[0, c, i, j]] == found[0, c, i, j]
    assert (found[1] == 0).all() and (argmax[1] == -1).all()


def test_ps_roi_pool(image):
    rois = np.array([[1, 1.0, 1, 5, 5]])
    found, _ = ops.ps_roi_pool(torch.from_numpy(image), torch.from_numpy(rois), 1.0, 2, 2)
    for c, i, j in np.ndindex(2, 2, 2):
        part = image[1, (c * 2 + i) * 2 + j, 1 + 2 * i:3 + 2 * i, 1 + 2 * j:3 + 2 * j]
        assert math.isclose(found[0, c, i, j].item(), part.mean(), abs_tol=1e-12)


BACKWARD = {
    "roi_align": ((0.7, 3, 2), (2, True), False), "ps_roi_align": ((0.7, 2, 2), (2,), True),
    "roi_pool": ((0.7, 2, 2), (), True), "ps_roi_pool": ((0.7, 2, 2), (), True),
}


@pytest.mark.parametrize("name", BACKWARD)
def test_backward_is_the_derivative(image, rois, rng, name):
    size, more, two = BACKWARD[name]
    rois = torch.from_numpy(rois)

    def forward(x):
        return getattr(ops, name)(torch.from_numpy(x), rois, *size, *more)
    made = forward(image)
    saved = (made[1],) if two and name != "roi_align" else ()
    grad = rng.standard_normal((made[0] if two else made).shape)
    ends = (2, 8, 7, 9)
    args = (*size, *more, *ends) if name == "ps_roi_align" else (*size, *ends, *more)
    found = getattr(ops, f"_{name}_backward")(torch.from_numpy(grad), rois, *saved, *args).numpy()
    step = rng.standard_normal(image.shape) * 1e-6
    up, down = (forward(image + s * step) for s in (1, -1))
    change = ((up[0] if two else up) - (down[0] if two else down)).numpy()
    assert math.isclose((found * step).sum(), (grad * change).sum() / 2, rel_tol=1e-4, abs_tol=1e-10)


def test_deform_conv2d_without_offsets_is_a_convolution(rng):
    x, w, b = (torch.from_numpy(rng.standard_normal(s)) for s in ((2, 4, 6, 7), (6, 2, 3, 3), (6,)))
    zeros, ones = torch.zeros(2, 18, 3, 4, dtype=torch.float64), torch.ones(2, 9, 3, 4, dtype=torch.float64)
    found = ops.deform_conv2d(x, w, zeros, ones, b, 2, 2, 1, 1, 1, 1, 2, 1, True)
    np.testing.assert_allclose(found.numpy(), torch.nn.functional.conv2d(x, w, b, 2, 1, groups=2).numpy(), atol=1e-12)


def test_deform_conv2d_samples_where_offsets_say(rng):
    x, w = rng.standard_normal((1, 1, 5, 5)), np.ones((1, 1, 1, 1))
    offset = rng.uniform(-3, 3, (1, 2, 5, 5))
    found = ops.deform_conv2d(*map(torch.from_numpy, (x, w, offset, np.ones((1, 1, 5, 5)), np.zeros(1))), 1, 1, 0, 0, 1, 1, 1, 1, True)
    padded = np.pad(x[0, 0], 1)
    for i, j in np.ndindex(5, 5):
        y, z = i + offset[0, 0, i, j], j + offset[0, 1, i, j]
        inside = -1 < y < 5 and -1 < z < 5
        assert math.isclose(found[0, 0, i, j].item(), bilinear(padded, y + 1, z + 1) if inside else 0, abs_tol=1e-12)


def test_deform_conv2d_backward_is_the_derivative(rng):
    shapes = ((1, 2, 5, 5), (2, 2, 3, 3), (1, 36, 3, 3), (1, 18, 3, 3), (2,))
    given = [rng.standard_normal(s) for s in shapes]
    rest = (1, 1, 0, 0, 1, 1, 1, 2, True)
    grad = rng.standard_normal((1, 2, 3, 3))
    found = ops._deform_conv2d_backward(torch.from_numpy(grad), *map(torch.from_numpy, given), *rest)
    steps = [rng.standard_normal(s) * 1e-7 for s in shapes]
    up, down = (ops.deform_conv2d(*[torch.from_numpy(a + s * d) for a, d in zip(given, steps, strict=True)], *rest).numpy()
                for s in (1, -1))
    total = sum((f.numpy() * d).sum() for f, d in zip(found, steps, strict=True))
    assert math.isclose(total, (grad * (up - down)).sum() / 2, rel_tol=1e-3)


def test_nms():
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30], [0, 0, 10, 5]])
    scores = torch.tensor([0.5, 0.9, 0.7, 0.8])
    assert ops.nms(boxes, scores, 0.45).tolist() == [1, 3, 2]
    assert ops.nms(boxes, scores, 0.3).tolist() == [1, 2]
    assert ops.nms(boxes[:0], scores[:0], 0.3).tolist() == []
    with pytest.raises(RuntimeError, match="boxes and scores should have same number of elements in dimension 0, got 4 and 2"):
        ops.nms(boxes, scores[:2], 0.5)


def test_box_iou_rotated():
    square, turned = torch.tensor([[0.0, 0, 2, 2, 0]]), torch.tensor([[0.0, 0, 2, 2, 45], [0, 0, 2, 2, 90], [9, 9, 1, 1, 0]])
    octagon = 8 * (math.sqrt(2) - 1)
    np.testing.assert_allclose(ops.box_iou_rotated(square, turned).numpy(), [[octagon / (8 - octagon), 1, 0]], atol=1e-6)


def test_quantized_operators_have_no_kernel():
    with pytest.raises(NotImplementedError, match="Could not run 'torchvision::qnms' with arguments from the 'CPU' backend"):
        ops.qnms(torch.zeros(1, 4), torch.zeros(1), 0.5)
