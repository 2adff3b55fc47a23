"""torch.finfo and torch.iinfo: the limits of dtypes."""
from __future__ import annotations

import math

import ml_dtypes
import numpy as np

import jtorch.dtype as dtypes

_PYTHON_TYPES = {float: dtypes.float64, complex: dtypes.complex128, int: dtypes.int64, bool: dtypes.bool_}
_EPS = {"float8_e5m2fnuz": 0.125}  # PyTorch's value; by PyTorch's definition of eps it would be 0.25
_MISSING = object()


def _checked(function: str, kind) -> dtypes.dtype:
    if kind is _MISSING:
        raise TypeError(f'{function}() missing 1 required positional arguments: "type"')
    if isinstance(kind, dtypes.dtype):
        return kind
    if isinstance(kind, type) and kind in _PYTHON_TYPES:
        return _PYTHON_TYPES[kind]
    raise TypeError(f"{function}(): argument 'type' (position 1) must be torch.dtype, not {type(kind).__name__}")


class _Info:
    """The limits of a dtype. Objects are read-only and unhashable, and equal if their dtypes are."""

    __slots__ = ("_values",)
    _shown: tuple[str, ...]
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name):
        try:
            return object.__getattribute__(self, "_values")[name]
        except KeyError:
            raise AttributeError(f"'torch.{type(self).__name__}' object has no attribute '{name}'") from None

    def __setattr__(self, name, value):
        raise AttributeError(f"'torch.{type(self).__name__}' object has no attribute '{name}'")

    def __eq__(self, other):
        return type(self) is type(other) and self.dtype == other.dtype

    def __dir__(self):
        return [*super().__dir__(), *self._values]

    def __reduce__(self):
        raise TypeError(f"cannot pickle 'torch.{type(self).__name__}' object")

    def __repr__(self):
        numbers = "".join(f"{name}={self._values[name]:g}, " for name in self._shown)
        return f"{type(self).__name__}({numbers}dtype={self.dtype})"


class finfo(_Info):
    """The limits of a floating point dtype, the default dtype's if none is given. See torch.finfo."""

    __slots__ = ()
    _shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")

    def __init__(self, type=_MISSING):
        dtype = dtypes.get_default_dtype() if type is _MISSING else _checked("finfo", type)
        if not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        object.__setattr__(self, "_values", _float_limits(dtype.to_real()))


class iinfo(_Info):
    """The limits of an integer dtype. See torch.iinfo."""

    __slots__ = ()
    _shown = ("min", "max")

    def __init__(self, type=_MISSING):
        dtype = _checked("iinfo", type)
        if dtype is dtypes.bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if dtype.is_floating_point or dtype.is_complex:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        limits = np.iinfo(dtype.np)
        object.__setattr__(
            self, "_values", {"bits": limits.bits, "min": int(limits.min), "max": int(limits.max), "dtype": dtype.name})


def _float_limits(dtype: dtypes.dtype) -> dict:
    limits = ml_dtypes.finfo(dtype.np)
    eps = _EPS.get(dtype.name, float(limits.eps))
    digits = math.floor((int(limits.nmant)) * math.log10(2))
    tiny = float(limits.smallest_normal)
    return {"bits": dtype.itemsize * 8, "eps": eps, "max": float(limits.max), "min": float(limits.min), "tiny": tiny,
            "smallest_normal": tiny, "resolution": float(f"1e-{digits}"), "dtype": dtype.name}
