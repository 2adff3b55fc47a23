"""torch._prims_common: queries about shapes, strides and dtypes, for packages with their own operators."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from jtorch._api import functions
from jtorch._base import warned
from jtorch._base.deterministic import Deterministic
from jtorch._base.size import Size
from jtorch.device import device
from jtorch.dtype import bfloat16, bool_, float16, float32
from jtorch.dtype import dtype as Dtype
from jtorch.ops.layout import channels_last, suggests_channels_last
from jtorch.tensor import Tensor

ShapeType: TypeAlias = Size | list[int] | tuple[int, ...]
StrideType: TypeAlias = list[int] | tuple[int, ...]
DimsType: TypeAlias = int | list[int] | tuple[int, ...]
DimsSequenceType: TypeAlias = list[int] | tuple[int, ...]
NumberType: TypeAlias = bool | int | float | complex
DeviceLikeType: TypeAlias = str | device | int
TensorLikeType = TensorLike = Tensor
TensorSequenceType: TypeAlias = list[Tensor] | tuple[Tensor, ...]
IntLike, FloatLike, BoolLike, Number = int, float, bool, (bool, int, float, complex)
_COMPUTED_IN = {bfloat16: float32, float16: float32}


def is_contiguous(a: Tensor, false_if_dde: bool = False) -> bool:
    """Return whether a tensor is contiguous. ``false_if_dde`` concerns unknown sizes and has no effect."""
    return a.numel() < 2 or a.is_contiguous()


def is_contiguous_or_false(a: Tensor) -> bool:
    """Return whether a tensor is contiguous."""
    return is_contiguous(a)


def is_channels_last_contiguous(a: Tensor) -> bool:
    """Return whether a tensor of images or volumes is contiguous in channels-last order."""
    return a.dim() in (4, 5) and tuple(a.stride()) == channels_last(tuple(a.shape))


is_channels_last_contiguous_or_false = is_channels_last_contiguous


def suggest_memory_format(x: Any) -> Any:
    """Return the memory format that a tensor's strides suggest."""
    if x.layout is not functions.empty(0).layout or not suggests_channels_last(tuple(x.shape), tuple(x.stride())):
        return functions.contiguous_format
    return functions.channels_last if x.dim() == 4 else functions.channels_last_3d


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """Return contiguous strides; without ``row_major``, those of column-major matrices."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    found = tuple(reversed(strides))
    return found if row_major or len(shape) < 2 else (*found[:-2], 1, max(shape[-2], 1))


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """Return a non-negative dim; IndexError if it is out of range."""
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    if rank == 0 and not wrap_scalar:
        raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
    rank = rank or 1
    if not -rank <= idx < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {idx})")
    return idx % rank


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """Return non-negative dims: an int for an int, else a tuple."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple([canonicalize_dim(rank, i, wrap_scalar) for i in indices])


def is_float_dtype(dtype: Dtype) -> bool:
    """Return whether a dtype is a floating point dtype."""
    return dtype.is_floating_point


def is_complex_dtype(dtype: Dtype) -> bool:
    """Return whether a dtype is complex."""
    return dtype.is_complex


def is_boolean_dtype(dtype: Dtype) -> bool:
    """Return whether a dtype is bool."""
    return dtype is bool_


def is_integer_dtype(dtype: Dtype) -> bool:
    """Return whether a dtype is an integer dtype."""
    return not (dtype.is_floating_point or dtype.is_complex or dtype is bool_)


def get_computation_dtype(dtype: Dtype) -> Dtype:
    """Return the dtype in which PyTorch computes elementwise operations."""
    return _COMPUTED_IN.get(dtype, dtype)


def alert_not_deterministic(caller: str) -> None:
    """Raise RuntimeError, or warn, if deterministic algorithms are required."""
    says = f"{caller} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True"
    if Deterministic.on and not Deterministic.warn_only:
        raise RuntimeError(f"{says})'.")
    if Deterministic.on:
        warned.warn(f"{says}, warn_only=True)'.")
