"""Complex functions on their branch cuts, where the sign of a zero says from which side a number comes.

C99 says so, and NumPy and PyTorch do it; XLA takes -0 for 0 there, so that ``sqrt(-9 - 0j)`` was 3j once it was compiled. By
symmetry the sign of a part of these functions is that of a part of the argument.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from jtorch.ops.elementwise import derivative


def _with_signs(fn: Callable, signs: Callable, x):
    """``fn(x)`` whose parts have the signs of two numbers that ``signs`` makes of the parts of ``x`` (None: its own)."""
    found = fn(x)
    parts = [part if sign is None else jnp.copysign(part, sign)
             for part, sign in zip((found.real, found.imag), signs(x.real, x.imag), strict=True)]
    return lax.complex(*parts)


def _sided(fn: Callable, signs: Callable) -> Callable:
    return derivative(lambda t, r, x: jax.jvp(fn, (x,), (t,))[1])(partial(_with_signs, fn, signs))


sqrt = derivative(lambda t, r, x: t / (2 * r))(partial(_with_signs, jnp.sqrt, lambda re, im: (None, im)))
arcsin = _sided(jnp.arcsin, lambda re, im: (re, im))
arcsinh = _sided(jnp.arcsinh, lambda re, im: (re, im))
arccos = _sided(jnp.arccos, lambda re, im: (None, -im))
def _slope(x):
    """The derivative of arccosh: JAX's, 1 / sqrt(x * x - 1), has the wrong sign left of the imaginary axis."""
    return lax.rsqrt(lax.complex(x.real - 1, x.imag)) * lax.rsqrt(lax.complex(x.real + 1, x.imag))      # x + 1 would make 0 of -0


arccosh = derivative(lambda t, r, x: t * _slope(x))(partial(_with_signs, jnp.arccosh, lambda re, im: (None, im)))
