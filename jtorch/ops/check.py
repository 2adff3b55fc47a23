"""Checks that op bodies share: PyTorch's exception types and messages for wrong dims, shapes and dtypes.

They read only shapes, dtypes and static arguments, so they run only when a call is first traced.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch.dtype as dtypes
from jtorch._base.error_notes import with_note

if TYPE_CHECKING:
    Int = int
else:
    # Bodies use ``Int`` in ``isinstance``: an int, or a symbolic size in a JAX trace for many sizes.
    from numbers import Integral as Int


_C_NAMES = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int", "int16": "short int",
            "int8": "signed char", "uint8": "unsigned char", "float16": "c10::Half", "bfloat16": "c10::BFloat16"}


def c_name(dtype: Any) -> str:
    """Return the name of a dtype in some of PyTorch's messages: the C++ name of common real dtypes, else NumPy's name."""
    return _C_NAMES.get(np.dtype(dtype).name, np.dtype(dtype).name)


def does_not_fit(dtype: Any) -> RuntimeError:
    """Return the error for a number that a dtype cannot represent."""
    return dtypes.does_not_fit(dtypes.of_numpy(dtype))


def require_fits(number: Any, dtype: Any) -> None:
    """Raise RuntimeError for a complex number if ``dtype`` is real."""
    if np.dtype(number.dtype).kind == "c" and np.dtype(dtype).kind != "c":
        raise does_not_fit(dtype)


def number_fits(number: Any, dtype: Any, *, wide: bool = False) -> None:
    """Raise RuntimeError if a static number overflows in a dtype. ``wide``: in the dtype that kernels compute in."""
    dtypes.check_fits(number, dtypes.of_numpy(np.float32 if wide and np.dtype(dtype).name in HALVES else dtype))


HALVES = ("float16", "bfloat16")


def wrap_dim(dim: int, ndim: int) -> int:
    """Return ``dim`` counted from the front. Raise IndexError if it is out of range; a 0-dim tensor has dims -1 and 0."""
    size = max(ndim, 1)
    if not -size <= dim < size:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})")
    return dim % size


def wrap_dims(dims: int | Sequence[int] | None, ndim: int, *, empty_is_all: bool = True) -> tuple[int, ...]:
    """Return dims counted from the front. None, and by default an empty list, means all dims."""
    if dims is None or (empty_is_all and not isinstance(dims, Int) and len(dims) == 0):
        return tuple(range(ndim))
    wrapped = tuple(wrap_dim(d, ndim) for d in ((dims,) if isinstance(dims, Int) else dims))
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return wrapped if ndim else ()


def are_known(sizes: Sequence) -> bool:
    """Return whether all sizes are ints, and not symbolic sizes of a JAX trace for many sizes."""
    try:
        for n in sizes:
            operator.index(n)
    except TypeError:
        return False
    return True


def sizes_known(tensors: Sequence) -> None:
    """Raise TypeError in a JAX trace with symbolic sizes. Bodies call this before code that needs known sizes."""
    for t in tensors:
        for n in t.shape:
            operator.index(n)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the common shape. Raise RuntimeError that names the sizes if they do not match."""
    result: tuple[int, ...] = ()
    for shape in shapes:
        result = _broadcast_pair(result, tuple(shape))
    return result


def expands_to(shape: tuple, to: tuple) -> bool:
    """Return whether a shape can be broadcast to another one."""
    return len(shape) <= len(to) and all([m in (1, n) for m, n in zip(shape[::-1], to[::-1], strict=False)])


def _broadcast_pair(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    n = max(len(a), len(b))
    pa, pb = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    for i in range(n - 1, -1, -1):
        if pa[i] != pb[i] and pa[i] != 1 and pb[i] != 1:
            raise with_note(RuntimeError(f"The size of tensor a ({pa[i]}) must match the size of tensor b ({pb[i]}) "
                                         f"at non-singleton dimension {i}"),
                            "Sizes are compared from the last dim; x[:, None] or x.unsqueeze(dim) gives one of size 1, "
                            "which stretches.")
    return tuple(y if x == 1 else x for x, y in zip(pa, pb, strict=True))


def scalar_name(d: np.dtype) -> str:
    """Return the dtype's name in PyTorch's messages, such as ``Float`` or ``Long``."""
    return dtypes.of_numpy(np.dtype(d)).scalar_name


def type_name(d: np.dtype) -> str:
    """Return the name of a dtype's tensors in PyTorch's messages, such as ``torch.FloatTensor`` or ``CPUBoolType``."""
    name = scalar_name(d)
    return f"torch.{name}Tensor" if name in _OLD else f"CPU{name}Type"


_OLD = ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")


_CPP = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char",
        "uint8": "unsigned char", "bool": "bool", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
        "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}


def cpp_name(dtype: np.dtype) -> str:
    """Return the C++ name of a dtype, including bool and complex dtypes, in some of PyTorch's messages."""
    return _CPP.get(np.dtype(dtype).name, str(dtype))


def require(condition: Any, message: str, error: type[Exception] = RuntimeError, advice: str = "") -> None:
    """Raise ``error(message)`` unless ``condition``, with ``advice`` as a note."""
    if not condition:
        raise with_note(error(message), advice) if advice else error(message)


def nonnegative(size: Sequence) -> tuple:
    """Return a size as a tuple. Raise RuntimeError for negative numbers."""
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
    return tuple(size)


def storable(shape: Sequence[int], dtype: Any) -> None:
    """Raise RuntimeError if a shape's bytes or strides overflow an int64."""
    numel, itemsize = 1, np.dtype(dtype).itemsize
    if math.prod([max(n, 1) for n in shape]) * itemsize < 2**63:
        return
    for n in shape:
        numel *= n
        if numel * itemsize >= 2**63:
            raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    raise RuntimeError("Stride calculation overflowed")


def nothing(template: tuple, edges: tuple) -> tuple:
    """Return the ``checks`` of a composite op whose parts save only intermediate values: no arguments."""
    return ()


def of_extreme(template: tuple, edges: tuple) -> tuple[int, ...] | None:
    """Return the ``checks`` of max and min: none along a dim (indices are saved), both of two tensors, else by ``saves``."""
    if isinstance(template[1], Int):
        return ()
    return None if template[1] is None and (len(template) < 4 or template[3] is None) else (0, 1)


def names_a_kernel(error: Exception) -> bool:
    """Return whether an error reports a missing kernel for a dtype. PyTorch raises it after errors about the target."""
    return str(error).startswith(('"', "Unsupported dtype"))
