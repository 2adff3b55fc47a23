"""Private and obsolete functions of ``torch`` that packages call."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._api.creation import tensor
from jtorch._base import warned
from jtorch.dtype import int64, named
from jtorch.tensor import Tensor


def _shape_as_tensor(input: Tensor) -> Tensor:
    """Return the shape as a tensor."""
    return tensor(list(input.shape), dtype=int64)


def _cast_to(name: str, dtype: str) -> Callable:
    def cast(input: Tensor, non_blocking: bool = False) -> Tensor:
        return input.to(named(dtype))
    cast.__name__, cast.__doc__ = name, f"The tensor as {dtype}."
    return cast


_CASTS = {"_cast_Byte": "uint8", "_cast_Char": "int8", "_cast_Double": "float64", "_cast_Float": "float32",
          "_cast_Half": "float16", "_cast_Int": "int32", "_cast_Long": "int64", "_cast_Short": "int16"}
globals().update({name: _cast_to(name, dtype) for name, dtype in _CASTS.items()})


def set_vital(vital: str, attr: str, value: str, force: bool = False) -> bool:
    """Return False: no vitals are recorded. See torch.set_vital."""
    warned.warn("'set_vital' is deprecated, please do not call")
    return False


def read_vitals() -> str:
    """Return an empty string. See torch.read_vitals."""
    warned.warn("'read_vitals' is deprecated, please do not call")
    return ""


def _scaled_mm(input: Tensor, mat2: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Any = None, scale_result: Any = None,
               out_dtype: Any = None, use_fast_accum: bool = False) -> Tensor:
    """Call ``torch.nn.functional.scaled_mm`` with the kinds of scales inferred from their sizes."""
    from jtorch._api.scaled_mm import ScalingType, scaled_mm
    kinds = [ScalingType.TensorWise if s.numel() == 1 else ScalingType.RowWise for s in (scale_a, scale_b)]
    made = scaled_mm(input, mat2, scale_a, kinds[0], scale_b, kinds[1], bias=bias, output_dtype=out_dtype)
    return made if scale_result is None else made * scale_result


def _grouped_mm(input: Tensor, mat2: Tensor, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Tensor:
    """Call ``torch.nn.functional.grouped_mm``."""
    from jtorch._api import nn_functions
    return nn_functions.grouped_mm(input, mat2, offs=offs, bias=bias, out_dtype=out_dtype)


def _int_mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of matrices of 8-bit integers, as int32."""
    for name, t in (("self", input), ("mat2", mat2)):
        if t.dim() != 2:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {t.dim()}")
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError("int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got "
                           f"{input.shape[1]} and {mat2.shape[0]}")
    for name, t in (("self", input), ("mat2", mat2)):
        if t.dtype.name not in ("int8", "uint8"):
            expected = "int8 or uint8" if name == "self" else "int8"
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} dtype to be {expected} but got {t.dtype.scalar_name.lower()}")
    from jtorch._api import functions
    return functions.mm(input.int(), mat2.int(), out=out)      # type: ignore[attr-defined]


def _weight_int8pack_mm(input: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    """Return ``input @ mat2.t() * scales`` for a matrix ``mat2`` of int8, with sums in float32, in the dtype of ``input``."""
    name = "_weight_int8pack_mm_cpu : "

    def require(holds: bool, message: str) -> None:
        if not holds:
            raise RuntimeError(name + message)
    if input.dim() < 2 or mat2.dim() < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    require(input.dtype.name in ("float32", "float16", "bfloat16"), "expect A to be either 32-bit or 16-bit float tensor.")
    require(input.stride(-1) == 1, "A must be contiguous on the last dimension.")
    require(input.dim() == 2, "expect A to be 2D tensor.")
    require(mat2.dtype.name == "int8", "expect B to be int8 tensor.")
    require(mat2.is_contiguous(), "expect B to be contiguous.")
    require(mat2.shape[1] == input.shape[1], f"expect B.size(1) == {input.shape[1]}")
    require(scales.dim() == 1 and scales.shape[0] == mat2.shape[0],
            f"expect scales to be 1d tensor with size {mat2.shape[0]}")
    if scales.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.scalar_name} but found {scales.dtype.scalar_name}")
    return (input.float() @ mat2.float().t() * scales.float()).to(input.dtype)


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Return whether ``input.data = from_`` is possible, that is, whether both have the same layout."""
    return input.layout is from_.layout     # type: ignore[attr-defined]
