"""The Box-Muller transform of PyTorch's CPU kernels, in blocks of 16: 8 radii, then 8 angles.

The float32 kernel follows PyTorch's AVX2 kernel: polynomials in float32 with fused multiply-adds. NumPy has no fused
operation, so each becomes a float64 product (which is exact) and sum, rounded to float32 once. If a product is exact in
float32 already (a power of two, or few bits in both factors), a plain product and sum gives the same number.
"""
from __future__ import annotations

import numpy as np

from jtorch._base import late_bindings
from jtorch.ops import _libm as libm

F = np.float32
CHUNK = 1 << 16                     # Numbers per chunk. The temporaries of a larger chunk do not fit into the L2 cache.


def _wide(value: float) -> np.ndarray:
    """Return a float32 number as a 0-dim float64 array, the fastest operand for NumPy."""
    return np.array(F(value), np.float64)


def _coefficients(*values: float) -> list[np.ndarray]:
    return [_wide(v) for v in values]


_LOG = _coefficients(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                     -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
_COS = _coefficients(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_SIN = _coefficients(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_LN2_HIGH, _LN2_LOW = F(0.693359375), F(-2.12194440e-4)
_PI4_HIGH, _PI4_MIDDLE, _PI4_LOW = F(-0.78515625), F(-2.4187564849853515625e-4), _wide(-3.77489497744594108e-8)
_SQRT_HALF_BITS = np.int32(0x3F3504F3)
_STEP = F(2.0**-24)
_EIGHT = np.dtype("V32")            # eight float32 as one element, which ``_join`` copies at once


def normals32(integers: np.ndarray) -> np.ndarray:
    """Return float32 standard normals from the same number (a multiple of 16) of 24-bit integers."""
    if late_bindings.normals is not None:
        made = np.empty(integers.size, F)
        late_bindings.normals(integers, made)
        return made
    u = integers.astype(F).reshape(-1, 2, 8)
    u *= _STEP
    r = _radius(u.take(0, axis=1).reshape(-1))
    s, c = _sin_cos(u.take(1, axis=1).reshape(-1))
    c *= r
    s *= r
    return _join(c, s)


def normals64(uniforms: np.ndarray) -> np.ndarray:
    """Return float64 standard normals from the same number (a multiple of 16) of uniforms."""
    u = uniforms.reshape(-1, 2, 8)
    r = np.sqrt(-2.0 * libm.log(1.0 - u.take(0, axis=1)))
    theta = (2.0 * np.pi) * u.take(1, axis=1)
    return np.concatenate((r * np.cos(theta), r * np.sin(theta)), axis=1).reshape(-1)


def _join(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Interleave two float32 arrays in groups of eight elements."""
    first, second = first.view(_EIGHT), second.view(_EIGHT)
    blocks = np.empty(2 * first.size, _EIGHT)
    blocks[0::2], blocks[1::2] = first, second
    return blocks.view(F)


def _horner(x: np.ndarray, coefficients: list[np.ndarray], wide: np.ndarray) -> np.ndarray:
    """Evaluate a polynomial at float64 ``x``, rounding to float32 after each step."""
    y = np.empty(x.shape, F)
    np.multiply(x, coefficients[0], wide)
    np.add(wide, coefficients[1], wide)
    for c in coefficients[2:]:
        y[:] = wide
        wide[:] = y
        np.multiply(wide, x, wide)
        np.add(wide, c, wide)
    y[:] = wide
    return y


def _fused(a: np.ndarray, b: np.ndarray, c: np.ndarray, wide: np.ndarray) -> np.ndarray:
    """Compute ``a * b + c``, rounded to float32 once, into ``a``. ``b`` is float64."""
    wide[:] = a
    wide *= b
    wide += c.astype(np.float64)
    a[:] = wide
    return a


def _radius(u: np.ndarray) -> np.ndarray:
    """Compute sqrt(-2 log(1 - u)) into ``u``."""
    x = np.subtract(F(1), u, out=u)
    e = _split_exponent(x)
    x -= F(1)
    x64 = x.astype(np.float64)
    wide = np.empty_like(x64)
    y = _horner(x64, _LOG, wide)
    y *= x
    z = x * x
    y = _fused(y, z.astype(np.float64), e * _LN2_LOW, wide)
    z *= F(0.5)
    y -= z
    x += y
    e *= _LN2_HIGH
    x += e
    x *= F(-2)
    return np.sqrt(x, out=x)


def _split_exponent(x: np.ndarray) -> np.ndarray:
    """Return the exponents ``e`` of ``x = m * 2**e`` with m in [sqrt(1/2), sqrt(2)). Write ``m`` into ``x``."""
    bits = x.view(np.int32)
    e = bits - _SQRT_HALF_BITS
    e >>= 23
    bits -= e << 23
    return e.astype(F)


def _sin_cos(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sin and cos of 2 pi u by polynomials around the nearest multiple of pi / 2. This overwrites ``u``."""
    u *= F(2 * np.pi)
    octant = (u * F(4 / np.pi)).astype(np.int32)
    octant += 1
    octant &= ~1
    s, c = _quarter(u, octant.astype(F))
    si, ci = s.view(np.int32), c.view(np.int32)
    swap = (si ^ ci) & -((octant >> 1) & 1)
    si ^= swap
    ci ^= swap
    si ^= (octant & 4) << 29
    ci ^= ((octant + 2) & 4) << 29
    return s, c


def _quarter(x: np.ndarray, multiple: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sin and cos of ``x - multiple * pi / 4``, which lies in [-pi/4, pi/4]."""
    x += multiple * _PI4_HIGH
    x += multiple * _PI4_MIDDLE
    wide = np.empty(x.shape, np.float64)
    x = _fused(multiple, _PI4_LOW, x, wide)
    z = x * x
    z64 = z.astype(np.float64)
    c, s = _horner(z64, _COS, wide), _horner(z64, _SIN, wide)
    c *= z
    s *= z
    z *= F(-0.5)
    c = _fused(c, z64, z, wide)
    c += F(1)
    return _fused(s, x.astype(np.float64), x, wide), c
