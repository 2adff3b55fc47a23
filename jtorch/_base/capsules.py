"""DLPack capsules of NumPy arrays, with the dtypes that NumPy's own capsules lack."""
from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

_CODES = {"bfloat16": (4, 16), "float8_e4m3fn": (10, 8), "float8_e4m3fnuz": (11, 8), "float8_e5m2": (12, 8),
          "float8_e5m2fnuz": (13, 8), "float8_e8m0fnu": (14, 8)}        # DLPack's type code and bits of an element
_NAMES = {code: name for name, code in _CODES.items()}
_UNSIGNED = 1       # DLPack's type code of unsigned integers
_DTYPE_AT = {b"dltensor": 20, b"dltensor_versioned": 52}        # the offset of the dtype, in bytes from the capsule's pointer

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_named = ctypes.pythonapi.PyCapsule_IsValid
_named.restype, _named.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


class _OfCapsule:
    """A DLPack capsule wrapped as an array with ``__dlpack__`` in CPU memory."""

    def __init__(self, capsule: Any):
        self.capsule = capsule

    def __dlpack__(self, **how: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _dtype_of(capsule: Any) -> Any:
    """Return the code and bits of a capsule's dtype as a writable array, or None for a consumed capsule."""
    for name, offset in _DTYPE_AT.items():
        if _named(capsule, name):
            return (ctypes.c_uint8 * 2).from_address(_pointer(capsule, name) + offset)
    return None


def exported(array: np.ndarray, max_version: tuple[int, int] | None = None) -> Any:
    """Return a capsule over the memory of an array. NumPy 2.0 has no versions of capsules."""
    how: Any = {} if max_version is None or np.lib.NumpyVersion(np.__version__) < "2.1.0" else {"max_version": max_version}
    code = _CODES.get(array.dtype.name)
    if code is None:
        return array.__dlpack__(**how)
    capsule = array.view(f"u{array.itemsize}").__dlpack__(**how)
    _dtype_of(capsule)[:] = code
    return capsule


def imported(capsule: Any) -> np.ndarray:
    """Return a writable array over a capsule's memory. Raise ValueError or BufferError for a consumed capsule."""
    found = _dtype_of(capsule)
    name = None if found is None else _NAMES.get(tuple(found))
    if name is not None:
        found[0] = _UNSIGNED
    array = np.from_dlpack(_OfCapsule(capsule))
    return _writable(array if name is None else array.view(getattr(ml_dtypes, name)))


def _writable(array: np.ndarray) -> np.ndarray:
    """Return a writable view. NumPy makes read-only arrays of old capsules, which do not say whether memory is writable."""
    if array.flags.writeable or not array.size:
        return array
    length = sum([(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]) + array.itemsize
    memory = (ctypes.c_byte * length).from_address(array.ctypes.data)
    memory.keeps = array        # type: ignore[attr-defined]
    return np.ndarray(array.shape, array.dtype, memory, strides=array.strides)
