"""Bessel and Airy functions that jax.scipy lacks. PyTorch gives them no gradient."""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import cephes
from jtorch.ops.elementwise import only_double
from jtorch.ops.registry import Tensor, op

_SQRT_2_OVER_PI = 0.797884560802865355879892119868763737


def _poly(coefficients, x):
    """Evaluate a polynomial by Horner's rule."""
    total = jnp.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return total


def _ratio(above, below, x):
    return _poly(above, x) / _poly(below, x)


def _chebyshev(coefficients, x):
    """Evaluate a Chebyshev series, whose first term counts half, by Clenshaw's algorithm."""
    older, before, last = jnp.zeros_like(x), jnp.zeros_like(x), jnp.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        older, before, last = before, last, x * last - before + c
    return 0.5 * (last - older)


def _far(order: int, x) -> tuple:
    """Return (p, q, angle, scale) for large ``x``: J is (p cos - q sin) * scale, Y is (p sin + q cos) * scale."""
    t = cephes
    pp, pq, qp, qq = ((t.J0_PP, t.J0_PQ, t.J0_QP, t.J0_QQ), (t.J1_PP, t.J1_PQ, t.J1_QP, t.J1_QQ))[order]
    z = 5 / x
    angle = x - (0.25 + 0.5 * order) * np.pi
    return _ratio(pp, pq, z * z), z * _ratio(qp, qq, z * z), angle, _SQRT_2_OVER_PI / jnp.sqrt(x)


def _j_far(order: int, x):
    p, q, angle, scale = _far(order, x)
    return (p * jnp.cos(angle) - q * jnp.sin(angle)) * scale


def _y_far(order: int, x):
    p, q, angle, scale = _far(order, x)
    return (p * jnp.sin(angle) + q * jnp.cos(angle)) * scale


def _j0(x):
    x = jnp.abs(x)
    near, z = jnp.minimum(x, 5), jnp.minimum(x, 5) ** 2
    close = (z - 5.78318596294678452118) * (z - 30.4712623436620863991) * _ratio(cephes.J0_RP, cephes.J0_RQ, z)
    return jnp.where(x <= 5, jnp.where(near < 1e-5, 1 - z / 4, close), _j_far(0, jnp.maximum(x, 5)))


def _j1(x):
    size = jnp.abs(x)
    near = jnp.minimum(size, 5)
    z = near * near
    close = _ratio(cephes.J1_RP, cephes.J1_RQ, z) * near * (z - 14.6819706421238932572) * (z - 49.2184563216946036703)
    value = jnp.where(size <= 5, close, _j_far(1, jnp.maximum(size, 5)))
    return jnp.where(x < 0, -value, value)


def _outside(x, at_zero, value):
    """Return ``value`` for positive ``x``, ``at_zero`` for 0 and NaN for negative ``x``."""
    return jnp.where(x == 0, at_zero, jnp.where(x < 0, jnp.nan, value)).astype(x.dtype)


@op(name="special.bessel_j0", promote="int_to_float", inplace=False, differentiable=False)
def bessel_j0(input: Tensor):
    """Return the Bessel function J0. See torch.special.bessel_j0."""
    only_double("bessel_j0_cpu", input)
    return _j0(input)


@op(name="special.bessel_j1", promote="int_to_float", inplace=False, differentiable=False)
def bessel_j1(input: Tensor):
    """Return the Bessel function J1. See torch.special.bessel_j1."""
    only_double("bessel_j1_cpu", input)
    return _j1(input)


@op(name="special.bessel_y0", promote="int_to_float", inplace=False, differentiable=False)
def bessel_y0(input: Tensor):
    """Return the Bessel function Y0. See torch.special.bessel_y0."""
    only_double("bessel_y0_cpu", input)
    x = jnp.minimum(input, 5)
    near = _ratio(cephes.Y0_YP, cephes.Y0_YQ, x * x) + 2 / np.pi * jnp.log(x) * _j0(x)
    return _outside(input, -jnp.inf, jnp.where(input <= 5, near, _y_far(0, jnp.maximum(input, 5))))


@op(name="special.bessel_y1", promote="int_to_float", inplace=False, differentiable=False)
def bessel_y1(input: Tensor):
    """Return the Bessel function Y1. See torch.special.bessel_y1."""
    only_double("bessel_y1_cpu", input)
    x = jnp.minimum(input, 5)
    near = x * _ratio(cephes.Y1_YP, cephes.Y1_YQ, x * x) + 2 / np.pi * (_j1(x) * jnp.log(x) - 1 / x)
    return _outside(input, -jnp.inf, jnp.where(input <= 5, near, _y_far(1, jnp.maximum(input, 5))))


@op(name="special.modified_bessel_i0", promote="int_to_float", inplace=False, differentiable=False)
def modified_bessel_i0(input: Tensor):
    """Return the modified Bessel function I0. See torch.special.modified_bessel_i0."""
    only_double("modified_bessel_i0_cpu", input)
    return jnp.exp(jnp.abs(input)) * lax.bessel_i0e(input)


@op(name="special.modified_bessel_i1", promote="int_to_float", inplace=False, differentiable=False)
def modified_bessel_i1(input: Tensor):
    """Return the modified Bessel function I1. See torch.special.modified_bessel_i1."""
    only_double("modified_bessel_i1_cpu", input)
    return jnp.exp(jnp.abs(input)) * lax.bessel_i1e(input)


def _k(order: int, input, *, scaled: bool):
    """Return K0 or K1, times e**x if ``scaled``."""
    x, far = jnp.minimum(input, 2), jnp.maximum(input, 2)
    series = _chebyshev((cephes.K0_A, cephes.K1_A)[order], x * x - 2)
    log = jnp.log(0.5 * x) * jnp.exp(x) * (lax.bessel_i0e, lax.bessel_i1e)[order](x)
    near = log + series / x if order else series - log
    beyond = _chebyshev((cephes.K0_B, cephes.K1_B)[order], 8 / far - 2) / jnp.sqrt(far)
    if scaled:
        near = near * jnp.exp(x)
    else:
        beyond = beyond * jnp.exp(-far)
    return _outside(input, jnp.inf, jnp.where(input <= 2, near, beyond))


@op(name="special.modified_bessel_k0", promote="int_to_float", inplace=False, differentiable=False)
def modified_bessel_k0(input: Tensor):
    """Return the modified Bessel function K0. See torch.special.modified_bessel_k0."""
    only_double("modified_bessel_k0_cpu", input)
    return _k(0, input, scaled=False)


@op(name="special.modified_bessel_k1", promote="int_to_float", inplace=False, differentiable=False)
def modified_bessel_k1(input: Tensor):
    """Return the modified Bessel function K1. See torch.special.modified_bessel_k1."""
    only_double("modified_bessel_k1_cpu", input)
    return _k(1, input, scaled=False)


@op(name="special.scaled_modified_bessel_k0", promote="int_to_float", inplace=False, differentiable=False)
def scaled_modified_bessel_k0(x: Tensor):
    """Return exp(x) K0(x). See torch.special.scaled_modified_bessel_k0."""
    only_double("scaled_modified_bessel_k0_cpu", x)
    return _k(0, x, scaled=True)


@op(name="special.scaled_modified_bessel_k1", promote="int_to_float", inplace=False, differentiable=False)
def scaled_modified_bessel_k1(x: Tensor):
    """Return exp(x) K1(x). See torch.special.scaled_modified_bessel_k1."""
    only_double("scaled_modified_bessel_k1_cpu", x)
    return _k(1, x, scaled=True)


@op(name="special.spherical_bessel_j0", promote="int_to_float", inplace=False, differentiable=False)
def spherical_bessel_j0(x: Tensor):
    """Return sin(x) / x, 1 at 0. See torch.special.spherical_bessel_j0."""
    only_double("spherical_bessel_j0_cpu", x)
    series = 1 - x * x / 6 * (1 - x * x / 20 * (1 - x * x / 42))
    value = jnp.where(jnp.abs(x) < 0.5, series, jnp.sin(x) / jnp.where(x == 0, 1, x))
    return jnp.where(jnp.isinf(x), jnp.zeros_like(x), value)


def _airy_small(x):
    """Return Ai by its power series, for small arguments."""
    z = x * x * x
    f, g, m, n = jnp.ones_like(x), x, jnp.ones_like(x), x
    for k in range(2, 122, 3):
        m, n = m * (z / ((k + 1) * k)), n * (z / ((k + 2) * (k + 1)))
        f, g = f + m, g + n
    return 0.355028053887817239260 * f - 0.258819403792806798405 * g


@op(name="special.airy_ai", promote="int_to_float", inplace=False, differentiable=False)
def airy_ai(input: Tensor):
    """Return the Airy function Ai. See torch.special.airy_ai."""
    only_double("airy_ai_cpu", input)
    x, left = jnp.maximum(input, 2.09), -jnp.minimum(input, -2.09)
    right_zeta, zeta = 2 * x * jnp.sqrt(x) / 3, 2 * left * jnp.sqrt(left) / 3
    above = _ratio(cephes.AI_AN, cephes.AI_AD, 1 / right_zeta) / (2 * jnp.sqrt(jnp.sqrt(x)) * jnp.exp(right_zeta))
    z, angle = 1 / zeta, zeta + 0.25 * np.pi
    cosine = z * _ratio(cephes.AI_AGN, cephes.AI_AGD, z * z)
    sine = 1 + z * z * _ratio(cephes.AI_AFN, cephes.AI_AFD, z * z)
    below = (jnp.sin(angle) * sine - jnp.cos(angle) * cosine) / jnp.sqrt(jnp.sqrt(left))
    far = jnp.where(input < 0, below, above) * 5.64189583547756286948e-01
    value = jnp.where(jnp.abs(input) < 2.09, _airy_small(jnp.clip(input, -2.1, 2.1)), far)
    return jnp.where(jnp.isinf(input), jnp.nan, jnp.where(input > 103.892, 0, value)).astype(input.dtype)
