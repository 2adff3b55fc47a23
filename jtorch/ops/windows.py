"""Window functions for signals: torch.hann_window and others, and torch.signal.windows."""
from __future__ import annotations

import math
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops import check, promotion
from jtorch.ops.create import default_float
from jtorch.ops.registry import dtype, op

_C_NAMES = {"int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char",
            "bool": "bool", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}


def _window(name: str, length: int, periodic: bool, dtype, shape_of):
    """Return ``shape_of(i, n)`` for i = 0 … length - 1. The window has n points, one more than ``length`` if periodic."""
    d = default_float(dtype)
    check.require(promotion.is_float(d), f"{name} expects floating point dtypes, got: TensorOptions(dtype="
                  f"{_C_NAMES.get(d.name)}, device=cpu, layout=Strided (default), requires_grad=false (default), "
                  "pinned_memory=false, memory_format=(nullopt))")
    check.require(length >= 0, f"{name} requires non-negative window_length, got window_length={length}")
    if length < 2:
        return jnp.ones((length,), d)
    return shape_of(jax.lax.iota(d, length), length + periodic).astype(d)


def _cosines(i, n: int, coefficients):
    """Return an alternating sum of cosines, the form of most windows."""
    angle = i * np.asarray(2 * math.pi / (n - 1), i.dtype)
    terms = [np.asarray(c, i.dtype) * jnp.cos(k * angle) if k else np.asarray(c, i.dtype)
             for k, c in enumerate(coefficients)]
    return sum(-t if k % 2 else t for k, t in enumerate(terms))


@op(creates=True, out=False)
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: dtype | None = None):
    """Return a triangle that is 0 at both ends. See torch.bartlett_window."""
    return _window("bartlett_window", window_length, periodic, dtype,
                   lambda i, n: jnp.minimum(i * np.asarray(2 / (n - 1), i.dtype),
                                            2 - i * np.asarray(2 / (n - 1), i.dtype)))


@op(creates=True, out=False)
def hann_window(window_length: int, periodic: bool = True, *, dtype: dtype | None = None):
    """Return a raised cosine that is 0 at both ends. See torch.hann_window."""
    return _window("hann_window", window_length, periodic, dtype, lambda i, n: _cosines(i, n, (0.5, 0.5)))


@op(creates=True, out=False)
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
                   dtype: dtype | None = None):
    """Return alpha - beta * cosine. See torch.hamming_window."""
    return _window("hamming_window", window_length, periodic, dtype, lambda i, n: _cosines(i, n, (alpha, beta)))


@op(creates=True, out=False)
def blackman_window(window_length: int, periodic: bool = True, *, dtype: dtype | None = None):
    """Return the sum of three cosines. See torch.blackman_window."""
    return _window("blackman_window", window_length, periodic, dtype, lambda i, n: _cosines(i, n, (0.42, 0.5, 0.08)))


@op(creates=True, out=False)
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: dtype | None = None):
    """Return a quotient of Bessel functions. See torch.kaiser_window."""
    return _window("kaiser_window", window_length, periodic, dtype, lambda i, n: _kaiser(i, n, beta))


def _kaiser(i, n: int, beta: float):
    x = i.astype(np.float64) * (2 / (n - 1)) - 1
    i0 = jax.scipy.special.i0
    return i0(beta * jnp.sqrt(jnp.maximum(1 - x * x, 0))) / i0(jnp.asarray(beta, np.float64))


def _signal(name: str, M: int, sym: bool, dtype, shape_of):
    """Return a window of torch.signal.windows: ``shape_of(i, n)``, where ``n`` points are a whole period."""
    d = default_float(dtype)
    check.require(M >= 0, f"{name} requires non-negative window length, got M={M}", ValueError)
    check.require(d in (np.dtype(np.float32), np.dtype(np.float64)),
                  f"{name} expects float32 or float64 dtypes, got: torch.{d.name}", ValueError)
    if M < 2:
        return jnp.ones((M,), d)
    return shape_of(jax.lax.iota(np.float64, M), M if sym else M + 1).astype(d)


@op(name="signal.windows.exponential", creates=True, out=False)
def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: dtype | None = None):
    """Return exp(-abs(i - center) / tau). See torch.signal.windows.exponential."""
    check.require(tau > 0, f"Tau must be positive, got: {tau} instead.", ValueError)
    check.require(not sym or center is None, "Center must be None for symmetric windows", ValueError)
    if M == 1 and center is not None:
        return jnp.exp(jnp.full((1,), -abs(center) / tau, default_float(dtype)))
    return _signal("exponential", M, sym, dtype,
                   lambda i, n: jnp.exp(-jnp.abs(i - ((n - 1) / 2 if center is None else center)) / tau))


@op(name="signal.windows.cosine", creates=True, out=False)
def cosine(M: int, *, sym: bool = True, dtype: dtype | None = None):
    """Return half a period of the sine. See torch.signal.windows.cosine."""
    return _signal("cosine", M, sym, dtype, lambda i, n: jnp.sin((i + 0.5) * (math.pi / n)))


@op(name="signal.windows.gaussian", creates=True, out=False)
def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: dtype | None = None):
    """Return the bell curve of standard deviation ``std``. See torch.signal.windows.gaussian."""
    check.require(std > 0, f"Standard deviation must be positive, got: {std} instead.", ValueError)
    return _signal("gaussian", M, sym, dtype, lambda i, n: jnp.exp(-jnp.square((i - (n - 1) / 2) / (std * math.sqrt(2)))))


@op(name="signal.windows.kaiser", creates=True, out=False)
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: dtype | None = None):
    """Return a quotient of Bessel functions. See torch.signal.windows.kaiser."""
    check.require(beta >= 0, f"beta must be non-negative, got: {beta} instead.", ValueError)
    return _signal("kaiser", M, sym, dtype, lambda i, n: _kaiser(i, n, beta))


@op(name="signal.windows.bartlett", creates=True, out=False)
def bartlett(M: int, *, sym: bool = True, dtype: dtype | None = None):
    """Return a triangle that is 0 at both ends. See torch.signal.windows.bartlett."""
    return _signal("bartlett", M, sym, dtype, lambda i, n: 1 - jnp.abs(2 * i / (n - 1) - 1))


def _general_cosine(name: str, M: int, a, sym: bool, dtype):
    return _signal(name, M, sym, dtype, lambda i, n: jnp.broadcast_to(_cosines(i, n, a), i.shape))


@op(name="signal.windows.general_cosine", creates=True, out=False)
def general_cosine(M: int, *, a, sym: bool = True, dtype: dtype | None = None):
    """Return the alternating sum of cosines with coefficients ``a``. See torch.signal.windows.general_cosine."""
    check.require(isinstance(a, Iterable), "Coefficients must be a list/tuple", TypeError)
    check.require(len(a) > 0, "Coefficients cannot be empty", ValueError)
    return _general_cosine("general_cosine", M, a, sym, dtype)


@op(name="signal.windows.general_hamming", creates=True, out=False)
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: dtype | None = None):
    """Return alpha - (1 - alpha) * cosine. See torch.signal.windows.general_hamming."""
    return general_cosine(M, a=(alpha, 1 - alpha), sym=sym, dtype=dtype)


@op(name="signal.windows.hamming", creates=True, out=False)
def hamming(M: int, *, sym: bool = True, dtype: dtype | None = None):
    """Return the Hamming window. See torch.signal.windows.hamming."""
    return general_cosine(M, a=(0.54, 0.46), sym=sym, dtype=dtype)


@op(name="signal.windows.hann", creates=True, out=False)
def hann(M: int, *, sym: bool = True, dtype: dtype | None = None):
    """Return a raised cosine that is 0 at both ends. See torch.signal.windows.hann."""
    return general_cosine(M, a=(0.5, 0.5), sym=sym, dtype=dtype)


@op(name="signal.windows.blackman", creates=True, out=False)
def blackman(M: int, *, sym: bool = True, dtype: dtype | None = None):
    """Return the sum of three cosines. See torch.signal.windows.blackman."""
    return _general_cosine("blackman", M, (0.42, 0.5, 0.08), sym, dtype)


@op(name="signal.windows.nuttall", creates=True, out=False)
def nuttall(M: int, *, sym: bool = True, dtype: dtype | None = None):
    """Return the sum of four cosines. See torch.signal.windows.nuttall."""
    return general_cosine(M, a=(0.3635819, 0.4891775, 0.1365995, 0.0106411), sym=sym, dtype=dtype)
