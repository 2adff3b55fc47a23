"""PyTorch's type promotion: the dtype in which an op computes, for tensors, 0-dim tensors and Python numbers."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

import jtorch.dtype as dtypes
from jtorch._base import warned
from jtorch.ops.named import by_name

NUMBER, ZERO_DIM, DIM = 0, 1, 2     # kinds of operands, by increasing priority

OPMATH = {np.dtype(jnp.bfloat16): np.dtype(np.float32), np.dtype(np.float16): np.dtype(np.float32)}
_UNSIGNED = {np.dtype(n) for n in ("uint16", "uint32", "uint64")}


def opmath(d: np.dtype) -> np.dtype:
    """Return PyTorch's ``opmath_type`` of ``d``, the dtype in which kernels compute: float32 for 16-bit floats."""
    return OPMATH.get(d, d)


def is_float(d: np.dtype) -> bool:
    """Return whether ``d`` is a real floating dtype, including bfloat16 and float8."""
    return jnp.issubdtype(d, np.floating)


def is_complex(d: np.dtype) -> bool:
    """Return whether ``d`` is complex."""
    return d.kind == "c"


def is_inexact(d: np.dtype) -> bool:
    """Return whether ``d`` is floating or complex."""
    return is_complex(d) or is_float(d)


def promote_types(a: np.dtype, b: np.dtype) -> np.dtype:
    """Return the smallest dtype to which both promote. See torch.promote_types."""
    if a == b:
        return a
    if is_inexact(a) or is_inexact(b):
        return _promote_inexact(a, b)
    if (a in _UNSIGNED and b.kind == "i") or (b in _UNSIGNED and a.kind == "i"):
        raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                           f"{dtypes.of_numpy(a).scalar_name} and {dtypes.of_numpy(b).scalar_name}")
    return np.promote_types(a, b)


def _promote_inexact(a: np.dtype, b: np.dtype) -> np.dtype:
    if not is_inexact(a):
        return b
    if not is_inexact(b):
        return a
    if is_complex(a) or is_complex(b):
        return _complex_of(a) if _complex_of(a).itemsize >= _complex_of(b).itemsize else _complex_of(b)
    if a.itemsize == b.itemsize:
        return np.dtype(np.float32)         # float16 with bfloat16, or two kinds of float8
    return a if a.itemsize > b.itemsize else b


def _complex_of(d: np.dtype) -> np.dtype:
    return d if is_complex(d) else np.dtype(np.complex128 if d == np.float64 else np.complex64)


def _combine(higher: np.dtype | None, lower: np.dtype | None) -> np.dtype | None:
    if higher is None or lower is None:
        return lower if higher is None else higher
    if is_complex(higher):
        return higher
    if is_float(higher):
        return _complex_of(higher) if is_complex(lower) else higher
    if higher.kind == "b" or is_inexact(lower):
        return promote_types(higher, lower)
    return higher


def result_type(operands: Iterable[tuple[np.dtype, int]]) -> np.dtype:
    """Return the common dtype of operands, each given as (dtype, NUMBER, ZERO_DIM or DIM). See torch.result_type."""
    by_rank: list[np.dtype | None] = [None, None, None]
    for d, rank in operands:
        have = by_rank[rank]
        by_rank[rank] = d if have is None else promote_types(have, d)
    result = _combine(by_rank[DIM], _combine(by_rank[ZERO_DIM], by_rank[NUMBER]))
    assert result is not None
    return result


def to_float(d: np.dtype) -> np.dtype:
    """Return ``d`` if it is inexact, else the default dtype."""
    return d if is_inexact(d) else dtypes.get_default_dtype().np


def drops_imaginary(source: np.dtype, target: np.dtype) -> bool:
    """Return whether a cast drops imaginary parts. A cast to bool reads both parts."""
    return is_complex(source) and not is_complex(target) and target != np.bool_


def warn_of_lost(source: np.dtype, target: np.dtype) -> None:
    """Give PyTorch's warning if a cast drops imaginary parts."""
    if drops_imaginary(source, target):
        warned.warn_once("Casting complex values to real discards the imaginary part")


def cast(x: jax.Array, to: np.dtype) -> jax.Array:
    """Return ``x`` cast to another dtype as PyTorch casts."""
    warn_of_lost(x.dtype, to)
    if drops_imaginary(x.dtype, to):
        x = x.real
    elif is_complex(x.dtype) and np.dtype(to) == np.bool_:
        return lax.ne(x, lax.full_like(x, 0))       # JAX's conversion reads only the real part
    if x.dtype == bool and is_inexact(np.dtype(to)):
        x = lax.convert_element_type(x, np.uint8)       # XLA would turn ``cast(mask) * y`` into a select, where ``0 * nan`` is 0
    if np.dtype(to) in _EIGHT_BITS and x.dtype != to:
        return _EIGHT_BITS[np.dtype(to)](lax.convert_element_type(x, np.float32), jnp)
    return truncated(x, to) if is_float(np.dtype(x.dtype)) and np.dtype(to).kind in "iu" else lax.convert_element_type(x, to)


def narrowed(array: np.ndarray, to: np.dtype) -> np.ndarray:
    """Cast a real NumPy array to a floating dtype. Numbers that overflow become infinite, if the dtype has infinities."""
    with np.errstate(over="ignore"):
        return _EIGHT_BITS[to](array.astype(np.float32), np) if to in _EIGHT_BITS and array.dtype != to else array.astype(to)


def _saturated(x: Any, xp: Any) -> Any:
    """Cast float32 (an array of ``xp``) to float8_e4m3fn. Overflows become the largest number; ml_dtypes gives nan."""
    top = float(ml_dtypes.finfo(ml_dtypes.float8_e4m3fn).max)
    return xp.clip(x, -top, top).astype(ml_dtypes.float8_e4m3fn)


def _exponent(x: Any, xp: Any) -> Any:
    """Cast float32 to float8_e8m0fnu, which has only an exponent: drop the sign and round half up."""
    bits = x.view(np.uint32)
    exponent, half, less = bits >> 23 & 255, bits & 0x400000, bits & 0x3FFFFF
    up = (exponent < 255) & (half != 0) & ((exponent != 0) | (less != 0))
    return (exponent + up.astype(np.uint32)).astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)


# The 8-bit floats to which PyTorch casts differently from ml_dtypes.
_EIGHT_BITS = {np.dtype(ml_dtypes.float8_e4m3fn): _saturated, np.dtype(ml_dtypes.float8_e8m0fnu): _exponent}


def truncated(x: jax.Array, to: Any) -> jax.Array:
    """Cast floats to integers as PyTorch does on x86. XLA would saturate."""
    return _truncation(np.dtype(x.dtype), np.dtype(to))(x)


@functools.cache
def _truncation(source: np.dtype, to: np.dtype) -> Callable:
    cut = truncation(source, to, jnp)

    def _cut_off(x):
        return cut(x)
    return by_name(_cut_off)


TRUNCATION = "_cut_off"     # the host recognizes the function by this name and calls NumPy's


def truncation(source: np.dtype, to: np.dtype, xp: Any = np) -> Callable:
    """Return a function that casts float arrays of ``xp`` to integers through 32 or 64 bits. Numbers that do not fit, and nan,
    become the lowest number; then higher bits are dropped.

    PyTorch's vectorized cast to uint32 differs from its scalar cast. This is the scalar cast.
    """
    if source.itemsize < 4:
        wide = truncation(np.dtype(np.float32), to, xp)
        return lambda x: wide(x.astype(np.float32))
    if to == np.uint64:
        return _beyond_int64(source, xp)
    bits = 64 if to.name in ("int64", "uint32", "uint8") else 32
    low, end, first = source.type(-2.0 ** (bits - 1)), source.type(2.0 ** (bits - 1)), np.dtype(f"int{bits}")

    def cut(x):
        inside = (x >= low) & (x < end)
        if xp is jnp or not inside.all():
            x = xp.where(inside, x, low)
        x = x.astype(first)
        return x if first == to else x.astype(to)
    return cut


def _beyond_int64(source: np.dtype, xp: Any) -> Callable:
    """Return ``truncation`` to uint64: the upper half of its range is cast like the lower half, with the highest bit set."""
    whole, half = truncation(source, np.dtype(np.int64), xp), source.type(2.0**63)

    def cut(x):
        high = x >= half
        return whole(xp.where(high, x - half, x)).astype(np.uint64) ^ (high.astype(np.uint64) << np.uint64(63))
    return cut


RULES = {"numeric": lambda d: d, "bool": lambda d: d, "int_to_float": to_float}
