"""Pointwise ops of one tensor, and clamp. See https://docs.pytorch.org/docs/stable/torch.html#pointwise-ops.

Ops with Python operators are in arithmetic.py, comparisons in compare.py, bits in bitwise.py, and the gamma,
error and Bessel functions in special.py.
"""
from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import _branch_cuts, check, out_dtypes
from jtorch.ops import derivatives_from_result as from_result
from jtorch.ops.elementwise import broadcast, derivative, kind, like, logistic, numbered, quotient, unsupported
from jtorch.ops.facts import Memory, Out, Saves
from jtorch.ops.layout import ANGLE, COMPLEX_COPIED, COPIED, ITERATED, WITHOUT_NUMBERS
from jtorch.ops.registry import Number, Tensor, op


@derivative(lambda t, r, x: t * _sign(x))
def _abs(x):
    return jnp.abs(x)


@derivative(lambda t, r, x: jnp.real(jnp.conj(sgn(x)) * t))
def _size(x):
    return jnp.abs(x)


@op(promote="numeric", aliases=("absolute",), operators=("__abs__",), layout=COMPLEX_COPIED,
    out=Out(refuses=out_dtypes.of_abs))
def abs(input: Tensor):
    """Return the magnitude of each element; its gradient at 0 is 0. See torch.abs."""
    unsupported("abs_cpu", input, "b")
    return _size(input) if kind(input) == "c" else _abs(input)


def _sign(x):
    """Return -1, 0 or 1; 0 for NaN, unlike jnp.sign."""
    if kind(x) == "b":
        return x
    if np.dtype(x.dtype).kind == "u":
        return (x != 0).astype(x.dtype)
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


@op(promote="numeric", saves="none", memory=Memory(dtypes_first=True), out=Out(refuses=out_dtypes.FOUND))
def sign(input: Tensor):
    """Return -1, 0 or 1. See torch.sign."""
    if kind(input) == "c":
        raise NotImplementedError("Unlike NumPy, torch.sign is not intended to support complex numbers. "
                                  "Please use torch.sgn instead.")
    return _sign(input)


@op(promote="numeric", saves=Saves("both", change=from_result.of_sgn), out=Out(refuses=out_dtypes.FOUND))
def sgn(input: Tensor):
    """Return the sign, for complex numbers the direction. See torch.sgn."""
    if kind(input) != "c":
        return _sign(input)
    zero = input == 0
    size = jnp.abs(jnp.where(zero, jnp.ones_like(input), input))
    return jnp.where(zero, jnp.zeros_like(input), input / size.astype(input.dtype))


@op(differentiable=False, layout=ITERATED,
    out=Out(refuses=out_dtypes.refusal("signbit does not support non-boolean outputs.")))
def signbit(input: Tensor):
    """Return whether the sign bit is set. See torch.signbit."""
    if kind(input) == "c":
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    if kind(input) == "b":
        return jnp.zeros_like(input)
    return jnp.signbit(input) if kind(input) == "f" else input < 0


@op(promote="int_to_float", inplace=False, layout=ANGLE)
def angle(input: Tensor):
    """Return the angle of complex numbers; of real ones 0 or pi. See torch.angle."""
    if kind(input) != "c":
        turned = jnp.where(input < 0, like(input, np.pi), jnp.zeros_like(input))
        return lax.stop_gradient(jnp.where(input != input, input, turned))
    zero = input == 0
    x = jnp.where(zero, jnp.ones_like(input), input)
    at_zero = lax.stop_gradient(jnp.arctan2(input.imag, input.real))
    nan = lax.stop_gradient(jnp.where(jnp.isnan(input), like(input.real, np.nan), jnp.zeros_like(input.real)))
    return jnp.where(zero, at_zero, jnp.arctan2(x.imag, x.real)) + nan


def _whole(name: str, fn):
    """Return the body of a rounding function. Integers stay unchanged; bool and complex raise as in PyTorch."""
    def round_with(input):
        if kind(input) == "c":
            raise NotImplementedError(f"{name} is not supported for complex inputs")
        unsupported(f"{name}_vml_cpu", input, "b")
        return input if kind(input) == "i" else fn(input)
    return round_with


@op(promote="numeric", saves="none", memory=Memory(dtypes_first=True), out=Out(refuses=out_dtypes.FOUND))
def ceil(input: Tensor):
    """Return the next integer up. See torch.ceil."""
    return _whole("ceil", jnp.ceil)(input)


@op(promote="numeric", saves="none", memory=Memory(dtypes_first=True), out=Out(refuses=out_dtypes.FOUND))
def floor(input: Tensor):
    """Return the next integer down. See torch.floor."""
    return _whole("floor", jnp.floor)(input)


@op(promote="numeric", aliases=("fix",), saves="none", memory=Memory(dtypes_first=True),
    out=Out(refuses=out_dtypes.FOUND))
def trunc(input: Tensor):
    """Return the integer part. See torch.trunc."""
    return _whole("trunc", jnp.trunc)(input)


@op(promote="numeric", saves="none", out=Out(refuses=out_dtypes.FOUND))
def frac(input: Tensor):
    """Return each element minus its integer part. See torch.frac."""
    unsupported("frac_cpu", input, "bic")
    return input - lax.stop_gradient(jnp.trunc(input))


@op(promote="numeric", aliases=("special.round",), saves="none",
    backward_name=lambda template: f"RoundBackward{0 if template[1] == 0 else 1}", out=Out(refuses=out_dtypes.FOUND))
def round(input: Tensor, *, decimals: int = 0):
    """Return the nearest integer, or multiple of a power of ten; halves go to the even one. See torch.round."""
    unsupported("round_vml_cpu" if decimals == 0 else "round_cpu", input, "bc" if decimals == 0 else "bic")
    if kind(input) == "i":
        return input
    if decimals == 0:
        return lax.round(input, lax.RoundingMethod.TO_NEAREST_EVEN)
    wide = jnp.dtype(jnp.float32) if input.dtype.itemsize == 2 else input.dtype
    ten = jnp.asarray(10.0 ** max(decimals, -decimals), wide)
    scaled = input.astype(wide) * ten if decimals > 0 else input.astype(wide) / ten
    whole = lax.round(scaled, lax.RoundingMethod.TO_NEAREST_EVEN)
    return (whole / ten if decimals > 0 else whole * ten).astype(input.dtype)


@op(saves="none", backward_name="ConjBackward0", out=False, layout=ITERATED)
def conj(input: Tensor):
    """Return the complex conjugate. See torch.conj."""
    return jnp.conj(input) if kind(input) == "c" else input


@op(promote="numeric", saves="none", out=Out(refuses=out_dtypes.FOUND))
def conj_physical(input: Tensor):
    """Return the complex conjugate. See torch.conj_physical."""
    return jnp.conj(input) if kind(input) == "c" else input


@op(promote="int_to_float", opmath=True, saves="none", backward_name="Deg2RadBackward0")
def deg2rad(input: Tensor):
    """Convert degrees to radians. See torch.deg2rad."""
    check.require(kind(input) != "c", "deg2rad is not supported for complex tensors.")
    return input * like(input, np.pi / 180)


@op(promote="int_to_float", opmath=True, saves="none", backward_name="Rad2DegBackward0")
def rad2deg(input: Tensor):
    """Convert radians to degrees. See torch.rad2deg."""
    check.require(kind(input) != "c", "rad2deg is not supported for complex tensors.")
    return input * like(input, 180 / np.pi)


@op(promote="int_to_float", aliases=("arccos",))
def acos(input: Tensor):
    """Return the angle whose cosine it is. See torch.acos."""
    return _branch_cuts.arccos(input)


@op(promote="int_to_float", aliases=("arccosh",))
def acosh(input: Tensor):
    """Return the inverse of cosh. See torch.acosh."""
    return _branch_cuts.arccosh(input)


@op(promote="int_to_float", aliases=("arcsin",))
def asin(input: Tensor):
    """Return the angle whose sine it is. See torch.asin."""
    return _branch_cuts.arcsin(input)


@op(promote="int_to_float", aliases=("arcsinh",))
def asinh(input: Tensor):
    """Return the inverse of sinh. See torch.asinh."""
    return _branch_cuts.arcsinh(input)


@op(promote="int_to_float", aliases=("arctan",))
def atan(input: Tensor):
    """Return the angle whose tangent it is. See torch.atan."""
    return jnp.arctan(input)


@op(promote="int_to_float", aliases=("arctanh",))
def atanh(input: Tensor):
    """Return the inverse of tanh. See torch.atanh."""
    return jnp.arctanh(input)


@op(promote="int_to_float")
def cos(input: Tensor):
    """Return the cosine. See torch.cos."""
    return jnp.cos(input)


@op(promote="int_to_float")
def cosh(input: Tensor):
    """Return the hyperbolic cosine. See torch.cosh."""
    return jnp.cosh(input)


@op(promote="int_to_float", saves=Saves("result", change=from_result.of_exp))
def exp(input: Tensor):
    """Return e raised to each element. See torch.exp."""
    return jnp.exp(input)


@derivative(lambda t, r, x: t * (r * math.log(2)))
def _exp2(x):
    return lax.pow(jnp.full(x.shape, 2, x.dtype), x)        # XLA's exp2 is exp(x * log(2)), which is inexact for 2 ** 3


@op(promote="int_to_float", aliases=("special.exp2",), saves=Saves("result", change=from_result.of_exp2))
def exp2(input: Tensor):
    """Return 2 raised to each element. See torch.exp2."""
    return jnp.exp2(input) if kind(input) == "c" else _exp2(input)


@op(promote="int_to_float", aliases=("special.expm1",), saves=Saves("result", change=from_result.of_expm1))
def expm1(input: Tensor):
    """Return e raised to each element, minus 1, exact for small ones. See torch.expm1."""
    return jnp.expm1(input)


@op(promote="int_to_float")
def log(input: Tensor):
    """Return the natural logarithm. See torch.log."""
    return jnp.log(input)


def _logarithm(base: int):
    """Return a logarithm of real numbers that is exact for powers of the base, unlike a quotient of logarithms."""
    @derivative(lambda t, r, x: t / (x * math.log(base)))
    def log(x):
        wide = x.astype(np.float64)
        found = jnp.log(wide) / math.log(base)
        if x.dtype == np.float64:
            whole = jnp.round(found)
            found = jnp.where(lax.pow(jnp.full(x.shape, float(base), x.dtype), whole) == x, whole, found)
        return found.astype(x.dtype)
    return log


_log2, _log10 = _logarithm(2), _logarithm(10)


@op(promote="int_to_float")
def log10(input: Tensor):
    """Return the logarithm to base 10. See torch.log10."""
    return jnp.log10(input) if kind(input) == "c" else _log10(input)


@op(promote="int_to_float", aliases=("special.log1p",), backward_name="Log1PBackward0")
def log1p(input: Tensor):
    """Return the logarithm of 1 plus each element, exact for small ones. See torch.log1p."""
    return jnp.log1p(input)


@op(promote="int_to_float")
def log2(input: Tensor):
    """Return the logarithm to base 2. See torch.log2."""
    return jnp.log2(input) if kind(input) == "c" else _log2(input)


@op(promote="int_to_float", saves=Saves("result", change=from_result.of_reciprocal))
def reciprocal(input: Tensor):
    """Return 1 divided by each element. See torch.reciprocal."""
    return quotient(like(input, 1), input) if kind(input) == "c" else lax.integer_pow(input, -1)


@derivative(lambda t, r, x: t * (-0.5 * (r * r * r)))
def _rsqrt(x):
    return lax.rsqrt(x)


@op(promote="int_to_float", saves=Saves("result", change=from_result.of_rsqrt))
def rsqrt(input: Tensor):
    """Return 1 divided by the square root. See torch.rsqrt."""
    return _rsqrt(input)


@op(promote="int_to_float", aliases=("special.expit", "nn.functional.sigmoid"),
    saves=Saves("result", change=from_result.of_sigmoid))
def sigmoid(input: Tensor):
    """Return the logistic function 1 / (1 + exp(-x)). See torch.sigmoid."""
    return logistic(input)


@op(promote="int_to_float")
def sin(input: Tensor):
    """Return the sine. See torch.sin."""
    return jnp.sin(input)


@op(promote="int_to_float", opmath=True, aliases=("special.sinc",))
def sinc(input: Tensor):
    """Return sin(pi x) / (pi x), 1 at 0. See torch.sinc."""
    return jnp.sinc(input)


@op(promote="int_to_float")
def sinh(input: Tensor):
    """Return the hyperbolic sine. See torch.sinh."""
    return jnp.sinh(input)


@op(promote="int_to_float", saves=Saves("result", change=from_result.of_sqrt))
def sqrt(input: Tensor):
    """Return the square root. See torch.sqrt."""
    return _branch_cuts.sqrt(input)


@op(promote="int_to_float", saves=Saves("result", change=from_result.of_tan))
def tan(input: Tensor):
    """Return the tangent. See torch.tan."""
    return jnp.tan(input)


@op(promote="int_to_float", saves=Saves("result", change=from_result.of_tanh), aliases=("nn.functional.tanh",))
def tanh(input: Tensor):
    """Return the hyperbolic tangent. See torch.tanh."""
    return jnp.tanh(input) if kind(input) == "c" else _tanh(input)


@derivative(lambda t, r, x: t * (1 - r * r), opmath=True)
def _tanh(x):
    return jnp.tanh(x)


@op(promote="int_to_float", aliases=("special.logit",))
def logit(input: Tensor, eps: float | None = None):
    """Return the inverse of sigmoid, of elements first brought to at least ``eps`` from 0 and 1. See torch.logit."""
    unsupported("logit_cpu", input, "c")
    if eps is None:
        return _logit(input)
    check.number_fits(eps, input.dtype)
    low, high = like(input, eps), like(input, 1 - eps)
    inside = ~((input < low) | (input > high))
    bounded = lax.stop_gradient(jnp.where(input < low, low, jnp.where(input > high, high, input)))
    return _logit(jnp.where(inside, input, bounded))


@derivative(lambda t, r, x: t * jnp.where((x < 0) | (x > 1), like(x, np.nan), 1 / (x * (1 - x))))
def _logit(x):
    return jnp.log(x / (1 - x))


@op(promote="numeric", layout=COPIED,
    out=Out(refuses=out_dtypes.refusal("nan_to_num: dtype of out: {out} should be same as input: {made}")))
def nan_to_num(input: Tensor, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None):
    """Return NaN and infinities replaced by numbers. See torch.nan_to_num."""
    if kind(input) in "bi":
        return input
    if kind(input) == "c":
        return lax.complex(*[nan_to_num(part, nan, posinf, neginf) for part in (input.real, input.imag)])
    limits = jnp.finfo(input.dtype)
    high = like(input, limits.max if posinf is None else posinf)
    low = like(input, limits.min if neginf is None else neginf)
    finite = jnp.where(input == jnp.inf, high, jnp.where(input == -jnp.inf, low, input))
    return jnp.where(input != input, like(input, 0.0 if nan is None else nan), finite)


def _clamp_backward(template) -> str:
    bounds = [t for t in template[1:3] if t is not None]
    return f"ClampBackward{0 if any(t.number_type is None for t in bounds) else 1}"


@op(promote="numeric", aliases=("clip",), backward_name=_clamp_backward, memory=Memory(dtypes_first=True),
    layout=WITHOUT_NUMBERS, out=Out(refuses=out_dtypes.of_clamp), fits="min max")
def clamp(input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None):
    """Clamp elements to ``min`` and ``max``; the gradient is 1 at the bounds. See torch.clamp."""
    check.require(min is not None or max is not None, "torch.clamp: At least one of 'min' or 'max' must not be None")
    if kind(input) == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    if min is None or max is None:
        return _at_most(input, max) if min is None else _at_least(input, min)
    check.require(input.dtype != np.bool_, "\"clamp_cpu\" not implemented for 'Bool'", NotImplementedError)
    return _between(input, min, max)


def _with_nan(result, *bounds):
    """Return the result with NaN where a bound is NaN."""
    for bound in bounds:
        if kind(bound) == "f":
            result = jnp.where(bound != bound, lax.stop_gradient(bound), result)
    return result


def _at_least(x, low):
    return _with_nan(jnp.where(x < low, low, jnp.where(x >= low, x, lax.stop_gradient(x))), low)


def _at_most(x, high):
    return _with_nan(jnp.where(x > high, high, jnp.where(x <= high, x, lax.stop_gradient(x))), high)


def _between(x, low, high):
    """Return ``min(max(x, low), high)`` with PyTorch's gradient, also if ``low >= high``."""
    value = lax.stop_gradient(jnp.minimum(jnp.maximum(x, low), high))
    inside = jnp.where((x >= low) & (x <= high), x, value)
    below = jnp.where((x < low) & (low < high), low, inside)
    return _with_nan(jnp.where((x > high) | (high < low), high, below), low, high)


@op(promote="numeric", backward_name=numbered("ClampMin", 1, tensor=1, number=0), memory=Memory(dtypes_first=True),
    layout=WITHOUT_NUMBERS, out=Out(refuses=out_dtypes.of_clamp), fits="min")
def clamp_min(input: Tensor, min: Tensor | Number):
    """Clamp elements to at least ``min``. See torch.clamp."""
    unsupported("maximum_cpu", input, "c")
    return _at_least(input, min)


@op(promote="numeric", backward_name=numbered("ClampMax", 1, tensor=1, number=0), memory=Memory(dtypes_first=True),
    layout=WITHOUT_NUMBERS, out=Out(refuses=out_dtypes.of_clamp), fits="max")
def clamp_max(input: Tensor, max: Tensor | Number):
    """Clamp elements to at most ``max``. See torch.clamp."""
    unsupported("minimum_cpu", input, "c")
    return _at_most(input, max)


def _over_square(t, other, a, b):
    square = a * a + b * b
    return t * (other * (1 / jnp.where(square == 0, 1, square)))


@derivative(lambda t, r, a, b: _over_square(t, b, a, b), lambda t, r, a, b: _over_square(t, -a, a, b))
def _atan2(a, b):
    return jnp.arctan2(a, b)


@op(promote="int_to_float", aliases=("arctan2",))
def atan2(input: Tensor, other: Tensor):
    """Return the angle of the vector (``other``, ``input``). See torch.atan2."""
    unsupported("atan2_cpu", input, "c")
    return _atan2(input, other)


@derivative(lambda t, r, a, b: t * jnp.where(a == 0, 0, r / a), None)
def _copysign(a, b):
    return jnp.copysign(a, b)


@op(promote="int_to_float", backward_name=numbered("Copysign", 1, tensor=0, number=1),
    saves=Saves("both", checks=lambda template, edges: (0, "result"), change=from_result.of_copysign, takes=(1, 2)))
def copysign(input: Tensor, other: Tensor | Number):
    """Return the magnitude of ``input`` with the sign of ``other``. See torch.copysign."""
    unsupported("copysign_cpu", input, "c")
    return _copysign(*broadcast(input, other))


def _split(x) -> tuple:
    mantissa, exponent = jnp.frexp(x.astype(jnp.float32) if x.dtype.itemsize == 2 else x)
    whole = (x == 0) | ~jnp.isfinite(x)
    return jnp.where(whole, x, mantissa.astype(x.dtype)), jnp.where(whole, 0, exponent).astype(jnp.int32)


@derivative(lambda t, r, x: t / jnp.exp2(_split(x)[1].astype(x.dtype)))
def _mantissa(x):
    return _split(x)[0]


@op(returns="mantissa exponent", layout=ITERATED)
def frexp(input: Tensor):
    """Return mantissas in [0.5, 1) and exponents of 2. See torch.frexp."""
    check.require(kind(input) == "f", "torch.frexp() only supports floating-point dtypes")
    return _mantissa(input), _split(lax.stop_gradient(input))[1]


@op(promote="int_to_float", saves="result")
def ldexp(input: Tensor, other: Tensor):
    """Return ``input`` times 2 to the power ``other``. See torch.ldexp."""
    return input * exp2(other)


@op(differentiable=False, not_derived=True, inplace=True, layout=ITERATED,
    out=Out(refuses=out_dtypes.refusal("heaviside is not yet implemented for tensors with different dtypes.")))
def heaviside(input: Tensor, values: Tensor):
    """Return 0 below 0, 1 above, ``values`` at 0. See torch.heaviside."""
    for x in (input, values):
        check.require(kind(x) != "c", "heaviside is not yet implemented for complex tensors.")
    check.require(input.dtype == values.dtype, "heaviside is not yet implemented for tensors with different dtypes.")
    input, values = broadcast(input, values)
    if kind(input) == "b":
        return input | values
    return jnp.where(input == 0, values, (input > 0).astype(input.dtype))


@derivative(lambda t, r, a, b: t * (a / r), lambda t, r, a, b: t * (b / r))
def _hypot(a, b):
    return jnp.hypot(a, b)


@op(promote="numeric", opmath=True,
    saves=Saves("both", checks=lambda template, edges: (*[i for i, e in enumerate(edges) if e is not None], "result"),
                change=from_result.of_hypot, takes=(2,)))
def hypot(input: Tensor, other: Tensor):
    """Return the length of the vector (``input``, ``other``). See torch.hypot."""
    unsupported("hypot_cpu", input, "bic")
    return _hypot(*broadcast(input, other))


def _share(t, a, b):
    return t / (1 + jnp.exp(b - a))


@derivative(lambda t, r, a, b: _share(t, a, b), lambda t, r, a, b: _share(t, b, a))
def _logaddexp(a, b):
    if kind(a) != "c":
        return jnp.logaddexp(a, b)
    first = a.real >= b.real
    low, high = jnp.where(first, b, a), jnp.where(first, a, b)
    return high + jnp.log1p(jnp.exp(low - high))


@op(promote="numeric", opmath=True, inplace=False)
def logaddexp(input: Tensor, other: Tensor):
    """Return log(exp(input) + exp(other)). See torch.logaddexp."""
    unsupported("logaddexp_cpu", input, "bi")
    return _logaddexp(*broadcast(input, other))


@derivative(lambda t, r, a, b: t / (1 + jnp.exp2(b - a)), lambda t, r, a, b: t / (1 + jnp.exp2(a - b)))
def _logaddexp2(a, b):
    return jnp.logaddexp2(a, b)


@op(promote="numeric", opmath=True, inplace=False)
def logaddexp2(input: Tensor, other: Tensor):
    """Return log2(2**input + 2**other). See torch.logaddexp2."""
    unsupported("logaddexp2_cpu", input, "bic")
    return _logaddexp2(*broadcast(input, other))


@derivative(lambda t, r, a, b: jnp.where(a == b, 0, t), None)
def _nextafter(a, b):
    return jnp.nextafter(a, b)


@op(promote="numeric")
def nextafter(input: Tensor, other: Tensor):
    """Return the next number the dtype has after ``input``, towards ``other``. See torch.nextafter."""
    unsupported("nextafter_cpu", input, "bic")
    return _nextafter(*broadcast(input, other))
