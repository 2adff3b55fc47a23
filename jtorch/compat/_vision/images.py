"""torchvision's operators that read and write image files. Pillow decodes and encodes them."""
from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch._api.creation import from_numpy
from jtorch._library.libraries import Library
from jtorch.ops import check
from jtorch.tensor import Tensor

# Maps the numbers of torchvision.io.ImageReadMode to Pillow's modes. 0 keeps the file's mode, except those that _pixels lists.
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_DECODE = "data, int mode, bool apply_exif_orientation=False) -> Tensor"
SCHEMAS = (
    "read_file(str filename) -> Tensor", "write_file(str filename, Tensor data) -> Tensor",
    f"decode_image(Tensor {_DECODE}", f"decode_jpeg(Tensor {_DECODE}", f"decode_png(Tensor {_DECODE}",
    "decode_gif(Tensor data) -> Tensor", "decode_webp(Tensor encoded_data, int mode) -> Tensor",
    "encode_jpeg(Tensor data, int quality) -> Tensor", "encode_png(Tensor data, int compression_level) -> Tensor",
    "decode_jpegs_cuda(Tensor[] encoded_images, int mode, Device device) -> Tensor[]",
    "encode_jpegs_cuda(Tensor[] decoded_images, int quality) -> Tensor[]",
    "_jpeg_version() -> int", "_is_compiled_against_turbo() -> bool",
)


def _pillow() -> Any:
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise NotImplementedError("torchvision's image files are read and written through Pillow here: "
                                  "pip install pillow") from error
    return Image, ImageOps


def read_file(filename: str) -> Tensor:
    """Return a file's bytes."""
    with open(filename, "rb") as file:
        content = file.read()
    check.require(bool(content), "Expected a non empty file")
    return from_numpy(np.frombuffer(content, np.uint8).copy())


def write_file(filename: str, data: Any) -> Tensor:
    """Write bytes to a file."""
    with open(filename, "wb") as file:
        file.write(_bytes(data))
    return data


def _bytes(data: Any) -> bytes:
    check.require(data.device.type == "cpu", "Input tensor should be on CPU")
    array = data.numpy()
    check.require(array.dtype == np.uint8, "Input tensor dtype should be uint8")
    check.require(array.ndim == 1 and array.size > 0, "Input data should be a 1-dimensional tensor")
    return array.tobytes()


def _pixels(image: Any, mode: int) -> np.ndarray:
    """Return a picture as (channels, height, width) in a mode. Mode 0 keeps 16 bits."""
    if mode in _MODES and image.mode != _MODES[mode]:
        image = image.convert(_MODES[mode])
    elif mode == 0 and image.mode in ("P", "CMYK", "1"):
        image = image.convert({"P": "RGBA" if "transparency" in image.info else "RGB", "CMYK": "RGB", "1": "L"}[image.mode])
    array = np.asarray(image)
    # The picture's own array is read-only, so it is copied.
    array = array.astype(np.uint16 if array.dtype == np.int32 else array.dtype)
    return array[None] if array.ndim == 2 else np.ascontiguousarray(array.transpose(2, 0, 1))


def _decoder(*formats: str) -> Callable:
    def decode(data: Any, mode: int = 0, apply_exif_orientation: bool = False) -> Tensor:
        Image, ImageOps = _pillow()
        given = _bytes(data)
        try:
            image = Image.open(io.BytesIO(given), formats=formats)
        except OSError as error:
            raise RuntimeError("Unsupported image file. Only jpeg, png, webp and gif are currently supported. For avif and heic "
                               "format, please rely on `decode_avif` and `decode_heic` directly.") from error
        if getattr(image, "n_frames", 1) > 1:
            return _frames(image)
        return from_numpy(_pixels(ImageOps.exif_transpose(image) if apply_exif_orientation else image,
                                  mode or (3 if image.format == "GIF" else 0)))
    return decode


def _frames(image: Any) -> Tensor:
    """Return an animation as (frames, 3, height, width)."""
    check.require(image.format != "WEBP", "Animated webp files are not supported.")
    frames = []
    for i in range(image.n_frames):
        image.seek(i)
        frames.append(_pixels(image, 3))
    return from_numpy(np.stack(frames))


def _encoded(data: Any, **options: Any) -> Tensor:
    Image, _ = _pillow()
    array = data.numpy()
    check.require(array.dtype == np.uint8, "Input tensor dtype should be uint8")
    check.require(array.ndim == 3, "Input data should be a 3-dimensional tensor")
    check.require(array.shape[0] in (1, 3), f"The number of channels should be 1 or 3, got: {array.shape[0]}")
    file = io.BytesIO()
    Image.fromarray(array[0] if len(array) == 1 else array.transpose(1, 2, 0)).save(file, **options)
    return from_numpy(np.frombuffer(file.getvalue(), np.uint8).copy())


def encode_jpeg(data: Any, quality: int) -> Tensor:
    """Return a JPEG file's bytes."""
    return _encoded(data, format="JPEG", quality=quality)


def encode_png(data: Any, compression_level: int) -> Tensor:
    """Return a PNG file's bytes."""
    check.require(0 <= compression_level <= 9, "Compression level should be between 0 and 9")
    return _encoded(data, format="PNG", compress_level=compression_level)


def _register() -> Library:
    lib = Library("image", "DEF")
    for schema in SCHEMAS:
        lib.define(schema)
    kernels: dict[str, Callable] = {
        "read_file": read_file, "write_file": write_file, "encode_jpeg": encode_jpeg, "encode_png": encode_png,
        "decode_image": _decoder("JPEG", "PNG", "GIF", "WEBP"), "decode_jpeg": _decoder("JPEG"), "decode_png": _decoder("PNG"),
        "decode_gif": _decoder("GIF"), "decode_webp": _decoder("WEBP"), "_jpeg_version": lambda: -1,
        "_is_compiled_against_turbo": lambda: False}
    for name, kernel in kernels.items():
        lib.impl(name, kernel, "CompositeExplicitAutograd")
    return lib


LIBRARY = _register()
