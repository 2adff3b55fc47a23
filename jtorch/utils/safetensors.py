"""Safetensors files of named tensors: the functions of ``safetensors.torch``, for jtorch's tensors.

The ``safetensors`` package reads, checks and writes the files.
"""
from __future__ import annotations

import os
from types import ModuleType
from typing import Any

import numpy as np

from jtorch import engine
from jtorch._api.creation import from_host, place_of
from jtorch.dtype import ALL, dtype
from jtorch.serialization.atomic import replacing
from jtorch.storage import value_of
from jtorch.tensor import Tensor

# Maps the format's dtype codes to the names of dtypes.
_CODES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
          "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
          "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu", "C64": "complex64",
          "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz"}


def _package() -> ModuleType:
    try:
        import safetensors
    except ImportError as e:
        raise RuntimeError("Attempting to load or save a safetensors file but safetensors is not installed. Please install it "
                           "with: pip install jtorch-jax[safetensors]") from e
    return safetensors


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Return named tensors as bytes of the safetensors format.

    Args:
        tensors: contiguous tensors of any shape and of a dtype that the format has, by name.
        metadata: strings by name.

    Returns:
        The file's content.

    Raises:
        ValueError: an argument that is no dict, or a tensor that is not contiguous.
        RuntimeError: tensors that share memory.

    >>> from jtorch.utils.safetensors import load, save
    >>> load(save({"x": torch.arange(3)}))
    {'x': tensor([0, 1, 2])}

    """
    package = _package()
    arrays = {name: np.asarray(array, order="C") for name, array in _arrays(tensors).items()}
    return bytes(package.serialize({name: _spec(package, array) for name, array in arrays.items()}, metadata=metadata))


def _spec(package: Any, array: np.ndarray) -> Any:
    return package.TensorSpec(dtype=array.dtype.name, shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes)


def _arrays(tensors: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """Return the tensors' elements as arrays; raise PyTorch's errors for tensors that the format cannot hold."""
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    by_storage: dict[int, list[str]] = {}
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(t)}")
        if not t.is_contiguous():
            raise ValueError(f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means "
                             "you are trying to save tensors which are reference of each other in which case it's recommended to "
                             "save only the full tensors, and reslice at load time, or simply call `.contiguous()` on your "
                             "tensor to pack it before saving.")
        if t.numel():
            by_storage.setdefault(id(t._storage), []).append(name)
    shared = [set(names) for names in by_storage.values() if len(names) > 1]
    if shared:
        raise RuntimeError("Some tensors share memory, this will lead to duplicate memory on disk and potential differences "
                           f"when loading them again: {shared}. Save clones of them, or only one of each.")
    return {name: _host(t) for name, t in tensors.items()}


def _host(t: Tensor) -> np.ndarray:
    value = value_of(t)
    engine.read(value)
    return engine.host_array(value)


def save_file(tensors: dict[str, Tensor], filename: str | os.PathLike, metadata: dict[str, str] | None = None) -> None:
    """Save named tensors to a file, which is replaced atomically.

    Args:
        tensors: contiguous tensors of any shape and of a dtype that the format has, by name.
        filename: the path.
        metadata: strings by name.

    Raises:
        ValueError: an argument that is no dict, or a tensor that is not contiguous.
        RuntimeError: tensors that share memory.

    >>> import jtorch as torch, tempfile, os
    >>> from jtorch.utils.safetensors import load_file, save_file
    >>> path = os.path.join(tempfile.mkdtemp(), "x.safetensors")
    >>> save_file({"x": torch.arange(3)}, path)
    >>> load_file(path)
    {'x': tensor([0, 1, 2])}

    """
    data = save(tensors, metadata)
    with replacing(os.fspath(filename)) as file:
        file.write(data)


def load(data: bytes, device: Any = "cpu") -> dict[str, Tensor]:
    """Return the named tensors in bytes of the safetensors format.

    Args:
        data: the content of a file.
        device: the device of the tensors.

    Returns:
        The tensors by name.

    Raises:
        SafetensorError: the bytes are damaged; the class is the package's.

    >>> from jtorch.utils.safetensors import load, save
    >>> load(save({"x": torch.ones(2)}))
    {'x': tensor([1., 1.])}

    """
    place = place_of(device)
    return {name: _tensor(entry["dtype"], entry["shape"], entry["data"], place) for name, entry in _package().deserialize(data)}


def _dtype(code: str) -> dtype:
    if code not in _CODES:
        raise TypeError(f"jtorch has no dtype for safetensors' {code}")
    return ALL[_CODES[code]]


def _tensor(code: str, shape: list[int], data: Any, place: Any) -> Tensor:
    return from_host(np.frombuffer(data, _dtype(code).np).reshape(shape), place)


def header(filename: str | os.PathLike) -> tuple[dict[str, str], dict[str, tuple[dtype, tuple[int, ...]]]]:
    """Return a file's metadata, and the dtypes and sizes of its tensors, without reading elements."""
    with _package().safe_open(os.fspath(filename), framework="np") as file:
        parts = {name: file.get_slice(name) for name in file.keys()}      # noqa: SIM118  (the object is no dict)
        return file.metadata() or {}, {name: (_dtype(p.get_dtype()), tuple(p.get_shape())) for name, p in parts.items()}


def load_file(filename: str | os.PathLike, device: Any = "cpu") -> dict[str, Tensor]:
    """Return the named tensors of a safetensors file, on a device.

    Args:
        filename: the path.
        device: the device of the tensors.

    Returns:
        The tensors by name.

    Raises:
        SafetensorError: the file is damaged; the class is the package's.

    >>> import tempfile, os
    >>> from jtorch.utils.safetensors import load_file, save_file
    >>> path = os.path.join(tempfile.mkdtemp(), "x.safetensors")
    >>> save_file({"x": torch.ones(2)}, path)
    >>> load_file(path)
    {'x': tensor([1., 1.])}

    """
    with open(filename, "rb") as file:
        return load(file.read(), device)
