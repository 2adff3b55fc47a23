"""The C library's functions on float64 arrays, where NumPy's own vector versions may differ in the last bit.

PyTorch's random kernels call the C library number by number. SciPy has functions that do the same in a loop in C:
they have other names, and these arguments make them the plain function. Short arrays need no SciPy.
"""
from __future__ import annotations

import math

import numpy as np

from jtorch._base import seam

SHORT = 32


def log(x: np.ndarray) -> np.ndarray:
    """The natural logarithm."""
    if x.size < SHORT:
        return _each(_log, x)
    from scipy.special import xlogy
    return xlogy(1.0, x)


def log1p(x: np.ndarray) -> np.ndarray:
    """The natural logarithm of 1 + x."""
    if x.size < SHORT:
        return _each(math.log1p, x)
    from scipy.special import boxcox1p
    return boxcox1p(x, 0.0)


def exp(x: np.ndarray) -> np.ndarray:
    """The exponential."""
    if x.size < SHORT:
        return _each(_exp, x)
    from scipy.special import inv_boxcox
    return inv_boxcox(x, 0.0)


def tan(x: np.ndarray) -> np.ndarray:
    """The tangent; in long arrays NumPy's, which may differ in the last bit."""
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
    """``a * b + c`` of float64, rounded once.

    Without the extension that is by error-free transformations, and the last bit may err, rarely.
    """
    if seam.fuse is not None:
        made = np.array(a, np.float64, order="C")
        seam.fuse(made, b, c)
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
    scaled = x * 134217729.0        # 2**27 + 1: leaves the upper 26 bits of x
    return scaled - (scaled - x)
