"""The C library's functions on float64 arrays. NumPy's vectorized functions may differ in the last bit.

PyTorch's random kernels call the C library for each number. Some SciPy functions do the same in a C loop. They have
other names; certain arguments reduce them to the plain function. Short arrays do not use SciPy.
"""
from __future__ import annotations

import math

import numpy as np

from jtorch._base import late_bindings

SHORT = 32


def log(x: np.ndarray) -> np.ndarray:
    """Return the natural logarithm."""
    if x.size < SHORT:
        return _each(_log, x)
    from scipy.special import xlogy
    return xlogy(1.0, x)


def log1p(x: np.ndarray) -> np.ndarray:
    """Return the natural logarithm of 1 + x."""
    if x.size < SHORT:
        return _each(math.log1p, x)
    from scipy.special import boxcox1p
    return boxcox1p(x, 0.0)


def exp(x: np.ndarray) -> np.ndarray:
    """Return the exponential."""
    if x.size < SHORT:
        return _each(_exp, x)
    from scipy.special import inv_boxcox
    return inv_boxcox(x, 0.0)


def tan(x: np.ndarray) -> np.ndarray:
    """Return the tangent. Long arrays use NumPy's function, which may differ in the last bit."""
    return _each(math.tan, x) if x.size < SHORT else np.tan(x)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _each(function, x: np.ndarray) -> np.ndarray:
    return np.array([function(v) for v in x.ravel().tolist()], np.float64).reshape(x.shape)


def fused(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """Return ``a * b + c`` in float64, rounded once.

    Without the extension this uses error-free transformations, whose last bit is rarely wrong.
    """
    if late_bindings.fuse is not None:
        made = np.array(a, np.float64, order="C")
        late_bindings.fuse(made, b, c)
        return made
    product = a * b
    if c == 0 or b in (0.0, 1.0):
        return product + c
    with np.errstate(all="ignore"):
        total = product + c
        error = _product_error(a, b, product)
        other = total - product
        error += (product - (total - other)) + (c - other)
        exact = total + error
    return np.where(np.isfinite(exact), exact, total)


def _product_error(a: np.ndarray, b: float, product: np.ndarray) -> np.ndarray:
    a_high, b_high = _upper_half(a), _upper_half(np.float64(b))
    a_low, b_low = a - a_high, b - b_high
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _upper_half(x):
    scaled = x * 134217729.0        # 2**27 + 1, which isolates the upper 26 bits of x
    return scaled - (scaled - x)
