"""torch.special: gamma, error and exponentially scaled functions. See https://docs.pytorch.org/docs/stable/special.html.

Bessel functions are in bessel.py, orthogonal polynomials in polynomials.py.
"""
from __future__ import annotations

import math

import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np
from jax import lax

from jtorch.ops import check
from jtorch.ops.elementwise import broadcast, derivative, like, only_double, unsupported
from jtorch.ops.facts import Saves
from jtorch.ops.reduce import wide
from jtorch.ops.registry import Number, T, Tensor, op


@op(promote="int_to_float", aliases=("special.erf",))
def erf(input: Tensor):
    """Return the error function. See torch.erf."""
    unsupported("erf_vml_cpu", input, "c")
    return lax.erf(input)


@op(promote="int_to_float", aliases=("special.erfc",))
def erfc(input: Tensor):
    """Return 1 minus the error function. See torch.erfc."""
    unsupported("erfc_vml_cpu", input, "c")
    return lax.erfc(input)


@derivative(lambda t, r, x: t * (0.5 * math.sqrt(math.pi) * jnp.exp(r * r)))
def _erfinv(x):
    return jnp.where(x == 0, x, lax.erf_inv(x))      # -0 gives -0


@op(promote="int_to_float", aliases=("special.erfinv",))
def erfinv(input: Tensor):
    """Return the inverse of the error function. See torch.erfinv."""
    unsupported("erfinv_vml_cpu", input, "c")
    return _erfinv(input)


@derivative(lambda t, r, x: t * (2 * x * r - 2 / math.sqrt(math.pi)))
def _erfcx(x):
    return jsp.erfcx(x)


@op(name="special.erfcx", promote="int_to_float", inplace=False, saves="both", backward_name="SpecialErfcxBackward0", loops=True)
def erfcx(input: Tensor):
    """Return exp(x*x) erfc(x). See torch.special.erfcx."""
    only_double("erfcx_cpu", input)
    return _erfcx(input)


@op(name="special.ndtr", promote="int_to_float", inplace=False, backward_name="MulBackward1",
    saves=Saves(checks=check.nothing))
def ndtr(input: Tensor):
    """Return the standard normal distribution function. See torch.special.ndtr."""
    unsupported("erf_vml_cpu", input, "c")
    return (1 + lax.erf(input * like(input, math.sqrt(0.5)))) * 0.5


@derivative(lambda t, r, x: t / _erfcx(x * -math.sqrt(0.5)) * math.sqrt(2 / math.pi))
def _log_ndtr(x):
    t = x * math.sqrt(0.5)
    low = jnp.log(jsp.erfcx(-jnp.minimum(t, 0)) / 2) - t * t
    return jnp.where(x < -1, low, jnp.log1p(-lax.erfc(t) / 2))


@op(name="special.log_ndtr", promote="int_to_float", inplace=False, saves="both", backward_name="SpecialLogNdtrBackward0",
    loops=True)
def log_ndtr(input: Tensor):
    """Return the logarithm of the standard normal distribution function. See torch.special.log_ndtr."""
    only_double("log_ndtr_cpu", input)
    return _log_ndtr(input)


@derivative(lambda t, r, x: t * (math.sqrt(2 * math.pi) * jnp.exp(r * r / 2)))
def _ndtri(x):
    return jsp.ndtri(x)


@op(name="special.ndtri", promote="int_to_float", inplace=False, saves="result", backward_name="SpecialNdtriBackward0",
    loops=True)
def ndtri(input: Tensor):
    """Return the inverse of ndtr. See torch.special.ndtri."""
    only_double("ndtri_cpu", input)
    return _ndtri(input)


@derivative(lambda t, r, x: t * (-jnp.log(x) - 1))
def _entr(x):
    inner = -x * jnp.log(jnp.where(x > 0, x, 1))
    return jnp.where(x != x, x, jnp.where(x > 0, inner, jnp.where(x == 0, 0, -jnp.inf).astype(x.dtype)))


@op(name="special.entr", promote="int_to_float", inplace=False, backward_name="SpecialEntrBackward0")
def entr(input: Tensor):
    """Return -x log(x). See torch.special.entr."""
    unsupported("entr_cpu", input, "c")
    return _entr(input)


@derivative(lambda t, r, x, y: t * jnp.where((x == 0) & (y <= 0), 0, jnp.log(y)), lambda t, r, x, y: t * (x / y))
def _xlogy(x, y):
    return jnp.where(y != y, y, jnp.where(x == 0, 0, x * jnp.log(y)))


def _xlogy_backward(name: str):
    return lambda template: f"{name}Backward{1 if template[0] is not T else 0 if template[1] is T else 2}"


@op(promote="int_to_float", aliases=("special.xlogy",), backward_name=_xlogy_backward("Xlogy"))
def xlogy(input: Tensor | Number, other: Tensor | Number):
    """Return x log(y), 0 where x is 0. See torch.xlogy."""
    unsupported("xlogy_cpu", input, "c")
    return _xlogy(*broadcast(input, other))


@derivative(lambda t, r, x, y: t * jnp.where((x == 0) & (y <= -1), 0, jnp.log1p(y)),
            lambda t, r, x, y: t * (x / (y + 1)))
def _xlog1py(x, y):
    return jnp.where(y != y, y, jnp.where(x == 0, 0, x * jnp.log1p(y)))


@op(name="special.xlog1py", promote="int_to_float", inplace=False, backward_name=_xlogy_backward("SpecialXlog1Py"))
def xlog1py(input: Tensor | Number, other: Tensor | Number):
    """Return x log(1 + y), 0 where x is 0. See torch.special.xlog1py."""
    unsupported("xlog1py_cpu", input, "c")
    return _xlog1py(*broadcast(input, other))


@derivative(lambda t, r, x: t * _polygamma(0, x))
def _lgamma(x):
    return lax.lgamma(x)


@op(promote="int_to_float", aliases=("special.gammaln",))
def lgamma(input: Tensor):
    """Return the logarithm of the gamma function's magnitude. See torch.lgamma."""
    unsupported("lgamma_vml_cpu", input, "c")
    return _lgamma(input)


def _digamma(x):
    return jnp.where(x == 0, -jnp.copysign(like(x, np.inf), x), lax.digamma(x))


def _trigamma(x):
    """Return trigamma, by reflection below 1/2 as in PyTorch."""
    low = x < 0.5
    half_turn = jnp.sin(jnp.where(low, x, 0.5) * math.pi)
    value = lax.zeta(jnp.full_like(x, 2), jnp.where(low, 1 - x, x))
    return jnp.where(low, (math.pi / half_turn) ** 2 - value, jnp.where(x == jnp.inf, 0, value))


def _polygamma(n: int, x):
    """Return derivative ``n`` of digamma. Its own derivative is derivative n + 1."""
    @derivative(lambda t, r, x: t * _polygamma(n + 1, x))
    def nth(x):
        if n < 2:
            return _trigamma(x) if n else _digamma(x)
        scale = math.factorial(n) * (1 if n % 2 else -1)
        return like(x, scale) * _zeta(jnp.full_like(x, n + 1), x)
    return nth(x)


@op(promote="int_to_float", aliases=("special.digamma", "special.psi"))
def digamma(input: Tensor):
    """Return the logarithmic derivative of the gamma function. See torch.digamma."""
    unsupported("digamma", input, "c")
    return _polygamma(0, wide(input)).astype(input.dtype)


@op(promote="int_to_float", aliases=("special.polygamma",), loops=True)
def polygamma(n: int, input: Tensor):
    """Return the ``n``-th derivative of digamma. See torch.polygamma."""
    check.require(n >= 0, "polygamma(n, x) does not support negative n.")
    unsupported("digamma" if n == 0 else "polygamma", input, "c")
    return _polygamma(n, wide(input)).astype(input.dtype)


@op(promote="int_to_float", aliases=("special.multigammaln",))
def mvlgamma(input: Tensor, p: int):
    """Return the logarithm of the multivariate gamma function. See torch.mvlgamma."""
    check.require(p >= 1, "p has to be greater than or equal to 1")
    total = like(input, p * (p - 1) / 4 * math.log(math.pi))
    for j in range(p):
        total = total + _lgamma(input - 0.5 * j)
    return total


@op(promote="numeric", aliases=("special.gammainc",))
def igamma(input: Tensor, other: Tensor):
    """Return the regularized lower incomplete gamma function. See torch.igamma."""
    unsupported("igamma_cpu", input, "bic")
    a, x = broadcast(input, other)
    value = jnp.where((a == 0) & (x > 0), 1, lax.igamma(a, x))
    return jnp.where((a == jnp.inf) & (x >= 0) & (x < jnp.inf), 0, value).astype(a.dtype)


@op(promote="numeric", aliases=("special.gammaincc",))
def igammac(input: Tensor, other: Tensor):
    """Return the regularized upper incomplete gamma function. See torch.igammac."""
    unsupported("igammac_cpu", input, "bic")
    a, x = broadcast(input, other)
    value = jnp.where((a == 0) & (x > 0), 0, lax.igammac(a, x))
    return jnp.where((a == jnp.inf) & (x >= 0) & (x < jnp.inf), 1, value).astype(a.dtype)


def _zeta_no_derivative(*_):
    raise NotImplementedError("the derivative for 'zeta' is not implemented.")


@derivative(_zeta_no_derivative, lambda t, r, x, q: t * (-x * _zeta(x + 1, q)))
def _zeta(x, q):
    pole = (x == 1) | ((x > 1) & (q <= 0) & (q == jnp.floor(q)))
    none = (x < 1) | (q == jnp.inf)
    return jnp.where(pole, jnp.inf, jnp.where(none, jnp.nan, _zeta_of_any(x, q))).astype(x.dtype)


def _zeta_of_any(x, q):
    """Return zeta. Terms with negative q are added one by one, since XLA's zeta is wrong for them."""
    steps = jnp.where((q < 0) & jnp.isfinite(q), jnp.ceil(-q), 0)

    def add(state):
        k, total = state
        return k + 1, total + jnp.where(k < steps, jnp.power(q + k, -x), 0)

    last = jnp.max(steps, initial=0)
    _, total = lax.while_loop(lambda state: state[0] < last, add, (jnp.zeros((), q.dtype), jnp.zeros_like(q)))
    return total + lax.zeta(x, q + steps)


@op(name="special.zeta", promote="int_to_float", inplace=False, backward_name=_xlogy_backward("SpecialZeta"), loops=True)
def zeta(input: Tensor | Number, other: Tensor | Number):
    """Return the Hurwitz zeta function. See torch.special.zeta."""
    only_double("zeta_cpu", input)
    return _zeta(*broadcast(input, other))


@derivative(lambda t, r, x: t * _i1(x))
def _i0(x):
    return jnp.exp(jnp.abs(x)) * lax.bessel_i0e(x)


def _away_from_zero(x) -> tuple:
    """Return (is ``x`` not tiny, ``x`` with 1 in place of tiny numbers), for divisions."""
    away = jnp.abs(x) > jnp.finfo(x.dtype).eps
    return away, jnp.where(away, x, 1)


def _i1_derivative(t, r, x):
    away, safe = _away_from_zero(x)
    return t * jnp.where(away, _i0(x) - r / safe, 0.5)


@derivative(_i1_derivative)
def _i1(x):
    return jnp.exp(jnp.abs(x)) * lax.bessel_i1e(x)


@derivative(lambda t, r, x: t * (_i1e(x) - jnp.sign(x) * r))
def _i0e(x):
    return lax.bessel_i0e(x)


def _i1e_derivative(t, r, x):
    away, safe = _away_from_zero(x)
    return t * jnp.where(away, _i0e(x) - r * (jnp.sign(x) + 1 / safe), 0.5)


@derivative(_i1e_derivative)
def _i1e(x):
    return lax.bessel_i1e(x)


@op(promote="int_to_float", opmath=True, aliases=("special.i0",))
def i0(input: Tensor):
    """Return the modified Bessel function I0. See torch.i0."""
    unsupported("i0_vml_cpu", input, "c")
    return _i0(input)


@op(name="special.i1", promote="int_to_float", inplace=False, saves="both", backward_name="SpecialI1Backward0")
def i1(input: Tensor):
    """Return the modified Bessel function I1. See torch.special.i1."""
    unsupported("i1_cpu", input, "c")
    return _i1(input)


@op(name="special.i0e", promote="int_to_float", inplace=False, saves="both", backward_name="SpecialI0EBackward0")
def i0e(input: Tensor):
    """Return exp(-|x|) I0(x). See torch.special.i0e."""
    unsupported("i0e_cpu", input, "c")
    return _i0e(input)


@op(name="special.i1e", promote="int_to_float", inplace=False, backward_name="SpecialI1EBackward0")
def i1e(input: Tensor):
    """Return exp(-|x|) I1(x). See torch.special.i1e."""
    unsupported("i1e_cpu", input, "c")
    return _i1e(input)
