"""PyTorch's dtypes that no tensor of jtorch can have. They can be compared, listed and printed."""
from __future__ import annotations

from typing import Any, NoReturn

from jtorch.dtype import dtype

_QUANTIZED = ("only quantized tensors have such elements, see torch.quantize_per_tensor; x.dequantize() of one is a tensor of "
              "floats")
_NARROW = "PyTorch's elements of less than a byte are not built; torch.int8 and torch.uint8 are"


class AbsentDtype(dtype):
    """A dtype without elements: using it for a tensor raises NotImplementedError."""

    __slots__ = ("says",)

    def __init__(self, name: str, itemsize: int, says: str):
        self.name = self.scalar_name = name
        self.itemsize, self.says = itemsize, says
        self.is_complex, self.is_floating_point = name.startswith("complex"), name.startswith("float")
        self.is_signed = not name.startswith(("uint", "quint"))

    @property
    def np(self) -> NoReturn:       # type: ignore[override]
        """Raise NotImplementedError, since neither NumPy nor JAX has such elements."""
        raise NotImplementedError(f"torch.{self.name}: {self.says}")

    def __reduce__(self) -> Any:
        return absent, (self.name,)


_ALL = {d.name: d for d in (
    *[AbsentDtype(name, 4 if "32" in name else 1, _QUANTIZED) for name in ("qint8", "quint8", "qint32", "quint4x2", "quint2x4")],
    *[AbsentDtype(f"{sign}int{bits}", 1, _NARROW) for sign in ("", "u") for bits in range(1, 8)],
    AbsentDtype("float4_e2m1fn_x2", 1, _NARROW),
    AbsentDtype("complex32", 4, "JAX has no complex numbers of 16-bit parts; torch.complex64 is there"))}
globals().update(_ALL, chalf=_ALL["complex32"])


def absent(name: str) -> AbsentDtype:
    """Return the absent dtype called ``name``."""
    return _ALL[name]
