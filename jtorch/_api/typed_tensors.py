"""Names that old scripts use: ``torch.FloatTensor`` and its like, memory formats, ``torch.return_types``."""
from __future__ import annotations

from typing import Any

import jtorch.dtype as dtypes
from jtorch._api import functions
from jtorch._api.creation import legacy_tensor_of
from jtorch._api.names import put
from jtorch.tensor import Tensor

_CLASSIC = "float64 float32 float16 bfloat16 uint8 int8 int16 int32 int64 bool".split()


class _TypedMeta(type):
    dtype: dtypes.dtype

    def __new__(cls, name: str, bases: tuple, namespace: dict):
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(cls, name, bases, namespace)

    def __instancecheck__(cls, obj: Any) -> bool:
        return isinstance(obj, Tensor) and obj.dtype is cls.dtype

    def __call__(cls, *args: Any, **kw: Any) -> Tensor:
        return legacy_tensor_of(args, kw, cls.dtype)


class memory_format:
    """torch.contiguous_format and its like; only contiguous memory exists here."""

    __module__ = "jtorch"

    def __init__(self, name: str):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name        # pickles name ``torch.channels_last``


MemoryFormat = memory_format        # as pickles of an earlier version name it


def bind() -> None:
    """Puts the names into the package."""
    typed = {f"{d.scalar_name}Tensor": d for d in map(dtypes.named, _CLASSIC)}
    put(functions, {name: _TypedMeta(name, (), {"dtype": d, "__module__": "jtorch"}) for name, d in typed.items()})
    formats = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
    made = {name: memory_format(name) for name in formats}
    put(functions, {"memory_format": memory_format, **made, "legacy_contiguous_format": made["contiguous_format"]})
