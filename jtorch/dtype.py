"""torch.dtype: PyTorch's dtypes, each backed by a NumPy dtype, and the default dtype."""
from __future__ import annotations

import ml_dtypes
import numpy as np

_COMPLEX = {"float16": "complex64", "bfloat16": "complex64", "float32": "complex64", "float64": "complex128"}


class dtype:
    """An element type. ``np`` is its NumPy dtype, ``scalar_name`` the name PyTorch's errors use (``Float``,
    ``Long``).
    """

    __module__ = "jtorch"
    __slots__ = ("is_complex", "is_floating_point", "is_signed", "itemsize", "name", "np", "scalar_name")

    def __init__(self, name: str, np_dtype, scalar_name: str):
        self.name, self.np, self.scalar_name = name, np.dtype(np_dtype), scalar_name
        self.is_complex = self.np.kind == "c"
        self.is_floating_point = name.startswith(("float", "bfloat"))
        self.is_signed = self.is_complex or self.is_floating_point or name.startswith("int")
        self.itemsize = self.np.itemsize

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name        # pickles name ``torch.float32``

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def to_real(self) -> dtype:
        """Return the dtype of the real part."""
        return of_numpy(np.zeros((), self.np).real.dtype) if self.is_complex else self

    def to_complex(self) -> dtype:
        """Return the complex dtype of the same precision."""
        return self if self.is_complex else named(_COMPLEX[self.name])


_TABLE = (
    ("uint8", np.uint8, "Byte"), ("int8", np.int8, "Char"), ("int16", np.int16, "Short"), ("int32", np.int32, "Int"),
    ("int64", np.int64, "Long"), ("float16", np.float16, "Half"), ("float32", np.float32, "Float"),
    ("float64", np.float64, "Double"), ("complex64", np.complex64, "ComplexFloat"),
    ("complex128", np.complex128, "ComplexDouble"), ("bool", np.bool_, "Bool"), ("bfloat16", ml_dtypes.bfloat16, "BFloat16"),
    ("uint16", np.uint16, "UInt16"), ("uint32", np.uint32, "UInt32"), ("uint64", np.uint64, "UInt64"),
    ("float8_e5m2", ml_dtypes.float8_e5m2, "Float8_e5m2"), ("float8_e4m3fn", ml_dtypes.float8_e4m3fn, "Float8_e4m3fn"),
    ("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, "Float8_e5m2fnuz"),
    ("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, "Float8_e4m3fnuz"),
    ("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, "Float8_e8m0fnu"),
)
ALL: dict[str, dtype] = {name: dtype(name, np_dtype, scalar) for name, np_dtype, scalar in _TABLE}
_BY_NUMPY = {d.np: d for d in ALL.values()}
ALIASES = {"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64", "short": "int16",
           "cfloat": "complex64", "cdouble": "complex128"}
PYTHON_TYPES = {bool: ALL["bool"], int: ALL["int64"], float: ALL["float32"], complex: ALL["complex64"]}

float16, bfloat16, float32, float64 = (ALL[n] for n in ("float16", "bfloat16", "float32", "float64"))
complex64, complex128, int64, uint8, bool_ = (ALL[n] for n in ("complex64", "complex128", "int64", "uint8", "bool"))


def named(name: str) -> dtype:
    """Return the dtype called ``name``."""
    return ALL[ALIASES.get(name, name)]


def of_numpy(np_dtype) -> dtype:
    """Return the torch dtype of a NumPy dtype; raise TypeError if PyTorch has none."""
    found = _BY_NUMPY.get(np_dtype)
    if found is None:
        found = _BY_NUMPY.get(np.dtype(np_dtype).newbyteorder("=") if np.dtype(np_dtype).isnative else None)
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {np.dtype(np_dtype).type.__module__}.{np.dtype(np_dtype).type.__name__}. "
            "The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, "
            "uint64, uint32, uint16, uint8, and bool.")
    return found


def as_dtype(given, caller: str) -> dtype | None:
    """Return the dtype for an argument, which can be a Python type such as float; raise TypeError for other objects."""
    if given is None or given.__class__ is dtype:
        return given
    if given.__class__.__hash__ is not None and given in _OF_PYTHON:
        return _OF_PYTHON[given]
    if isinstance(given, dtype):
        return given.np     # This is a dtype that no tensor can have. Reading its ``np`` raises.
    raise TypeError(f"{caller}(): argument 'dtype' must be torch.dtype, not {type(given).__name__}")


_OF_PYTHON = {bool: bool_, int: int64, float: float64, complex: complex128}


def of_python_kind(kind: str) -> dtype | None:
    """Return the dtype that torch.tensor gives to numbers of a NumPy kind, such as ``f``; None for kinds without a default."""
    if kind == "f":
        return _Default.dtype
    return _Default.dtype.to_complex() if kind == "c" else {"b": bool_, "i": int64}.get(kind)


# The names of C++ types in PyTorch's messages about overflow.
_C_NAMES = {"uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t", "uint16": "uint16_t",
            "uint32": "uint32_t", "uint64": "uint64_t", "bool": "bool", "float32": "float", "float64": "double",
            "float16": "c10::Half", "bfloat16": "c10::BFloat16", "complex64": "c10::complex<float>",
            "complex128": "c10::complex<double>"}


def does_not_fit(target: dtype) -> RuntimeError:
    """Return the error for a number that a dtype cannot represent."""
    name = _C_NAMES.get(target.name, f"c10::{target.name.capitalize()}")
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


def check_fits(number, target: dtype, *, scalar: bool = False) -> None:
    """Raise RuntimeError if converting a Python number to a dtype overflows, as in ``fill_``.

    ``scalar`` means that one element is made from the number. PyTorch then does not check floats of 16 and 8 bits.
    """
    if target.name == "bool" or (scalar and target.is_floating_point and target.itemsize < 4):
        return
    if isinstance(number, complex):
        fits = _is_in_range(number.real, target) and (_is_in_range(number.imag, target) if target.is_complex else not number.imag)
    else:
        fits = _is_in_range(number, target)
    if not fits:
        raise does_not_fit(target)


def _is_in_range(number, target: dtype) -> bool:
    """Return whether a real number is within a dtype's range, as ``c10::overflows`` defines it."""
    if not (target.is_floating_point or target.is_complex):
        info = np.iinfo(target.np)
        wraps = isinstance(number, int) and not target.is_signed      # negative integers wrap around, negative floats do not
        return (-int(info.max) if wraps else int(info.min)) <= number <= int(info.max)
    limits = ml_dtypes.finfo(target.to_real().np)
    if number != number or (abs(number) == float("inf") and not np.isnan(np.asarray(number).astype(target.np))):
        return True
    return float(limits.min) <= number <= float(limits.max)


class _Default:
    dtype = float32


def get_default_dtype() -> dtype:
    """Return the dtype of tensors made from Python floats. See torch.get_default_dtype."""
    return _Default.dtype


def use_default(d: dtype) -> None:
    """Set the dtype of Python floats. The caller must clear the engine's caches, which depend on the old one."""
    _Default.dtype = d


def default_of_number(number_type: type) -> np.dtype:
    """Return a Python number's NumPy dtype in promotion: bool, int64, the default float or the default complex."""
    if number_type is float:
        return _Default.dtype.np
    if number_type is complex:
        return _Default.dtype.to_complex().np
    return PYTHON_TYPES[number_type].np


def can_cast(source, target) -> bool:
    """Return whether PyTorch casts one dtype to another implicitly. See torch.can_cast."""
    if source.is_complex and not target.is_complex:
        return False
    if source.is_floating_point and not (target.is_floating_point or target.is_complex):
        return False
    return not (source.name != "bool" and target.name == "bool")
