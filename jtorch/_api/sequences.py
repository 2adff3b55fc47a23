"""Conversion of nested sequences item by item, with the dtype, shape and errors of ``torch.tensor``."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import jtorch.dtype as dtypes
from jtorch._base import warned
from jtorch.ops import promotion
from jtorch.tensor import Tensor

MAX_DIMS = 128


def array_of(data: Any, dtype: dtypes.dtype | None) -> np.ndarray:
    """Return ``data`` as a new NumPy array of ``dtype``, or of the items' common dtype."""
    shape = _shape(data)
    wanted = dtype or _inferred(data)
    items = list(_items(data, shape, 0))
    return np.array([_stored(x, wanted) for x in items], dtype=wanted.np).reshape(shape)


def type_name(x: Any) -> str:
    """Return the name of an object's type with its module, as C prints it; built-in types have no module."""
    kind = type(x)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def is_sequence(x: Any) -> bool:
    """Return whether an object is converted as a sequence, to a tensor of at least one dim."""
    return x.ndim > 0 if isinstance(x, np.ndarray) else _is_sequence(x)


def _is_sequence(x: Any) -> bool:
    if isinstance(x, np.generic) and not isinstance(x, str):
        return False
    return hasattr(x, "__len__") and hasattr(x, "__getitem__") and not isinstance(x, (dict, Tensor))


def _shape(data: Any) -> tuple[int, ...]:
    """Return the shape given by the first item at each depth. Other sequences must have the same lengths."""
    shape: list[int] = []
    while _is_sequence(data):
        shape.append(len(data))
        if len(shape) > MAX_DIMS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not shape[-1]:
            break
        data = data[0]
    return tuple(shape)


def _items(data: Any, shape: tuple[int, ...], dim: int) -> Iterator[Any]:
    if dim == len(shape):
        yield data
        return
    if isinstance(data, Tensor) and data.dim():
        data = data.tolist()
    if not _is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != shape[dim]:
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})")
    if dim == 0 and any(isinstance(x, np.ndarray) for x in data):
        warned.warn("Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list "
                    "to a single numpy.ndarray with numpy.array() before converting to a tensor.")
    for x in data:
        yield from _items(x, shape, dim + 1)


def _inferred(x: Any) -> dtypes.dtype:
    """Return the dtype of an item, or the dtype to which all items of a sequence promote."""
    if isinstance(x, Tensor):
        return x.dtype
    if isinstance(x, (np.ndarray, np.generic)):
        return dtypes.of_numpy(x.dtype.newbyteorder("="))
    for kind in (bool, int, float, complex):
        if isinstance(x, kind):
            return dtypes.of_numpy(dtypes.default_of_number(kind))
    if isinstance(x, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(x).__name__}'")
    if not _is_sequence(x):
        raise RuntimeError(f"Could not infer dtype of {type_name(x)}")
    return _common([_inferred(item) for item in x])


def _common(found: list[dtypes.dtype]) -> dtypes.dtype:
    if not found:
        return dtypes.get_default_dtype()
    common = found[0]
    for d in set(found):
        common = dtypes.of_numpy(promotion.promote_types(common.np, d.np))
    return common


def _stored(x: Any, wanted: dtypes.dtype) -> Any:
    """Return an item converted to the dtype. Raise PyTorch's errors if it does not fit."""
    if isinstance(x, (Tensor, np.generic, np.ndarray)):
        x = _number(x, wanted)
    if wanted.name == "bool":
        return bool(x)
    if wanted.is_complex:
        return _checked(complex, x, "must be real number, not ")
    if wanted.is_floating_point:
        return _checked(float, x, "must be real number, not ")
    return _integer(x, wanted)


def _number(x: Any, wanted: dtypes.dtype) -> Any:
    if isinstance(x, Tensor) and x.numel() != 1:
        raise (ValueError("only one element tensors can be converted to Python scalars") if wanted.is_floating_point else
               TypeError("only integer tensors of a single element can be converted to an index"))
    return x.item()


def _checked(kind: type, x: Any, message: str) -> Any:
    if not isinstance(x, (int, float, complex)) or (isinstance(x, complex) and kind is not complex):
        raise TypeError(f"{message}{type(x).__name__}")
    try:
        return kind(x)
    except OverflowError:
        return kind("inf" if x > 0 else "-inf")      # type: ignore[operator]


def _integer(x: Any, wanted: dtypes.dtype) -> int:
    if not isinstance(x, (int, float)):
        raise TypeError(f"'{type(x).__name__}' object cannot be interpreted as an integer")
    if wanted.name == "uint64":
        return _uint64(x)
    if isinstance(x, int) and not -2 ** 63 <= x < 2 ** 63:
        raise ValueError("Overflow when unpacking long long")
    info = np.iinfo(wanted.np)
    low = -int(info.max) if not wanted.is_signed else int(info.min)     # negative numbers wrap around
    if x != x or not low <= x <= info.max:
        raise RuntimeError(f"value cannot be converted to type {wanted.name} without overflow")
    return int(x) % (int(info.max) + 1) if not wanted.is_signed else int(x)


def _uint64(x: Any) -> int:
    if not isinstance(x, int):
        raise TypeError("an integer is required")
    if x < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if x >= 2 ** 64:
        raise OverflowError("int too big to convert")
    return x
