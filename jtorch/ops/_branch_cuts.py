"""Complex functions on their branch cuts, where the sign of a zero selects the side of the cut.

C99, NumPy and PyTorch define them so. XLA treats -0 as 0, so ``sqrt(-9 - 0j)`` would be 3j when compiled. By symmetry each
part of these functions has the sign of a part of the argument.
"""
from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from jtorch.ops.elementwise import derivative, kind


def _sided(fn: Callable, signs: Callable, change: Callable | None = None) -> Callable:
    """Return ``fn`` with corrected signs for complex ``x``: ``signs`` maps the parts of ``x`` to numbers with the results' signs.

    None keeps a part's sign. ``change(t, result, x)``: the tangent, if JAX's is wrong on the cut.
    """
    @derivative(change or (lambda t, r, x: jax.jvp(fn, (x,), (t,))[1]))
    def of_complex(x):
        found = fn(x)
        return lax.complex(*[part if sign is None else jnp.copysign(part, sign)
                             for part, sign in zip((found.real, found.imag), signs(x.real, x.imag), strict=True)])

    return lambda x: of_complex(x) if kind(x) == "c" else fn(x)


def _change_of_arccosh(t, _, x):
    """Return the tangent of arccosh. JAX's slope, 1 / sqrt(x * x - 1), has the wrong sign left of the imaginary axis."""
    below, above = lax.complex(x.real - 1, x.imag), lax.complex(x.real + 1, x.imag)     # x + 1 would turn -0 into 0
    return t * (lax.rsqrt(below) * lax.rsqrt(above))


sqrt = _sided(jnp.sqrt, lambda re, im: (None, im), lambda t, r, x: t / (2 * r))
arcsin = _sided(jnp.arcsin, lambda re, im: (re, im))
# arcsinh has a tangent of its own, since the tangent of JAX 0.12 differs from it in sign.
arcsinh = _sided(jnp.arcsinh, lambda re, im: (re, im), lambda t, r, x: t * lax.rsqrt(x * x + 1))
arccos = _sided(jnp.arccos, lambda re, im: (None, -im))
arccosh = _sided(jnp.arccosh, lambda re, im: (None, im), _change_of_arccosh)
