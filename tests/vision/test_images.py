"""torchvision's operators for image files."""
from __future__ import annotations

import pytest

import jtorch as torch

pytest.importorskip("PIL")
from jtorch._vision.images import LIBRARY

ops = torch.ops.image
assert LIBRARY is not None
GRAY, RGB = 1, 3


@pytest.fixture
def picture():
    return (torch.arange(3 * 8 * 10).reshape(3, 8, 10) % 255).to(torch.uint8)


def test_png_keeps_each_pixel(picture, tmp_path):
    path = str(tmp_path / "a.png")
    ops.write_file(path, ops.encode_png(picture, 6))
    data = ops.read_file(path)
    for decode in (ops.decode_png, ops.decode_image):
        assert torch.equal(decode(data, RGB), picture)
    assert ops.decode_image(data, GRAY).shape == (1, 8, 10)


def test_jpeg_is_near(picture):
    found = ops.decode_jpeg(ops.encode_jpeg(picture, 95), RGB)
    assert found.dtype is torch.uint8 and (found.float() - picture.float()).abs().max() <= 8


def test_errors(picture, tmp_path):
    with pytest.raises(RuntimeError, match="The number of channels should be 1 or 3, got: 2"):
        ops.encode_png(picture[:2], 6)
    with pytest.raises(RuntimeError, match="Unsupported image file"):
        ops.decode_image(torch.zeros(9, dtype=torch.uint8), RGB)
    with pytest.raises(FileNotFoundError):
        ops.read_file(str(tmp_path / "none.png"))
