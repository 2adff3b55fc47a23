"""Names of old scripts, such as ``torch.FloatTensor``, and memory formats."""
from __future__ import annotations

from typing import Any

import jtorch.device as devices
import jtorch.dtype as dtypes
from jtorch._api import functions
from jtorch._api.creation import legacy_tensor_of
from jtorch._api.names import put
from jtorch._base.error_notes import with_note
from jtorch._base.layout import layout as Layout
from jtorch._base.layout import sparse_coo, strided
from jtorch.tensor import Tensor

_CLASSIC = "float64 float32 float16 bfloat16 uint8 int8 int16 int32 int64 bool".split()


class tensortype(type):     # noqa: N801 (PyTorch's name)
    """The metaclass of ``torch.FloatTensor``. Tensors with the class's dtype, layout and device type are its instances."""

    dtype: dtypes.dtype
    layout: Layout
    is_cuda: bool
    __module__ = "torch"

    def __new__(cls, name: str, bases: tuple, namespace: dict):
        if bases:
            raise TypeError(f"type '{_path(bases[0])}' is not an acceptable base type")
        return super().__new__(cls, name, bases, namespace)

    @property
    def is_sparse(cls) -> bool:
        """Whether the class is for sparse tensors."""
        return cls.layout is sparse_coo

    def __instancecheck__(cls, obj: Any) -> bool:
        return (isinstance(obj, Tensor) and obj.dtype is cls.dtype and obj.layout is cls.layout     # type: ignore[attr-defined]
                and obj.device.type != "meta" and (obj.device.type == "cuda") is cls.is_cuda)

    def __call__(cls, *args: Any, **kw: Any) -> Tensor:
        check_available(cls)
        place = devices.as_device("cuda" if cls.is_cuda else "cpu")
        if not cls.is_sparse:
            return legacy_tensor_of(args, kw, cls.dtype, place)
        from jtorch.sparse.legacy import sparse_tensor_of
        return sparse_tensor_of(args, kw, cls.dtype, place)


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__name__}"


def check_available(cls: tensortype) -> None:
    """Raise TypeError for a class of CUDA tensors if there is no GPU."""
    if cls.is_cuda and not devices.jax_devices("cuda"):
        raise with_note(TypeError(f"type {_path(cls)} not available. Torch not compiled with CUDA enabled."), devices.NO_GPU)


def _classes(module: str, names: dict[str, dtypes.dtype]) -> dict[str, tensortype]:
    facts = {"__module__": module, "layout": sparse_coo if "sparse" in module else strided, "is_cuda": "cuda" in module}
    return {name: tensortype(name, (), {"dtype": d, **facts}) for name, d in names.items()}


_ALL = {f"{d.scalar_name}Tensor": d for d in dtypes.ALL.values()}
_SPARSE = {f"{name}Tensor": _ALL[f"{name}Tensor"] for name in "BFloat16 Byte Char Double Float Half Int Long Short".split()}
DENSE = _classes("torch", _ALL)
SPARSE = _classes("torch.sparse", _SPARSE)
CUDA = _classes("torch.cuda", {**_SPARSE, "BoolTensor": _ALL["BoolTensor"]})
CUDA_SPARSE = _classes("torch.cuda.sparse", _SPARSE)
NAMED = {_path(cls): cls for kind in (DENSE, SPARSE, _classes("torch.cuda", _ALL), CUDA, CUDA_SPARSE) for cls in kind.values()}


class memory_format:
    """A memory format, such as torch.contiguous_format."""

    __module__ = "jtorch"

    def __init__(self, name: str):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name        # pickles refer to ``torch.channels_last``


MemoryFormat = memory_format        # the name in pickles of earlier versions of jtorch


def bind() -> None:
    """Add the names to the package."""
    put(functions, {name: cls for name, cls in DENSE.items() if cls.dtype.name in _CLASSIC})
    formats = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
    made = {name: memory_format(name) for name in formats}
    put(functions, {"memory_format": memory_format, **made, "legacy_contiguous_format": made["contiguous_format"]})
