"""Rules of elementwise primitives. Division by 0, shifts and casts give XLA's results, not those of C or NumPy."""
from __future__ import annotations

from collections.abc import Callable
from math import prod

import jax
import numpy as np

from jtorch.engine import policy
from jtorch.engine.host.lazy import Lazy
from jtorch.engine.host.rules import (
    BFLOAT16,
    FLOAT32,
    HALF,
    Equation,
    in_compute_dtype,
    kind,
    require,
    rule,
)
from jtorch.ops.promotion import TRUNCATION, opmath, truncation

# Primitives whose NumPy function gives the right result for each dtype. ml_dtypes adds loops for its dtypes to these ufuncs.
SAME: dict[str, Callable] = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
    "neg": np.negative, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "square": np.square, "real": np.real,
    "imag": np.imag, "nextafter": np.nextafter, "is_finite": np.isfinite, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
}
# Primitives with a NumPy function that computes 16-bit floats in float32.
THROUGH_FLOAT32 = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log1p": np.log1p,
    "sqrt": np.sqrt, "cbrt": np.cbrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "atan2": np.arctan2,
}
# Primitives with a function of scipy.special, by its name. They compute 16-bit floats in float32.
SPECIAL = {"erf": "erf", "erfc": "erfc", "erf_inv": "erfinv", "bessel_i0e": "i0e", "bessel_i1e": "i1e", "zeta": "zeta",
           "regularized_incomplete_beta": "betainc", "igamma": "gammainc", "igammac": "gammaincc"}
sp = Lazy("scipy.special")


@rule(*SAME)
def _same(e: Equation) -> Callable:
    return SAME[e.name]


@rule(*THROUGH_FLOAT32)
def _through_float32(e: Equation) -> Callable:
    return in_compute_dtype(THROUGH_FLOAT32[e.name], e.dtype)


@rule(*SPECIAL)
def _special(e: Equation) -> Callable:
    return in_compute_dtype(getattr(sp, SPECIAL[e.name]), e.dtype)


@rule("div")
def _div(e: Equation) -> Callable:
    return _int_div(e.dtype) if kind(e.dtype) in "iu" else np.divide


def _int_div(dtype: np.dtype) -> Callable:
    minus_one = dtype.type(-1 if dtype.kind == "i" else np.iinfo(dtype).max)

    def div(a, b):
        q = np.floor_divide(a, b)
        if dtype.kind == "i":       # NumPy rounds down, and XLA rounds towards zero
            q = np.add(q, (np.bitwise_xor(a, b) < 0) & (np.multiply(q, b) != a), dtype=dtype)
        zero = np.equal(b, 0)
        return np.where(zero, minus_one, q) if zero.any() else q
    return div


@rule("rem")
def _rem(e: Equation) -> Callable:
    if kind(e.dtype) == "f":
        return in_compute_dtype(np.fmod, e.dtype)

    def rem(a, b):
        r, zero = np.fmod(a, b), np.equal(b, 0)
        return np.where(zero, a, r) if zero.any() else r
    return rem


@rule("mod")
def _mod(e: Equation) -> Callable:
    """Return NumPy's remainder, which is 0 for an integer divisor of 0. ``mod`` stands for integers only."""
    return np.remainder


@rule("pow")
def _pow(e: Equation) -> Callable:
    dtype = e.dtype
    if e.ins[1].dtype == dtype:
        return in_compute_dtype(np.power, dtype)
    wide = opmath(dtype)
    return lambda x, y: np.power(x.astype(wide), y.astype(wide)).astype(dtype)


@rule("integer_pow")
def _integer_pow(e: Equation) -> Callable:
    y, one = e.params["y"], e.dtype.type(1)
    if y == 2:
        return np.square

    def power(x):
        n, result = abs(y), None
        while n:
            if n & 1:
                result = x if result is None else np.multiply(result, x)
            n >>= 1
            if n:
                x = np.square(x)
        if result is None:
            return np.ones_like(x)
        return np.divide(one, result) if y < 0 else result
    return in_compute_dtype(power, e.dtype)


@rule("polynomial")
def _polynomial(e: Equation) -> Callable:
    shape = e.shape

    def horner(x, *coefficients):
        result = coefficients[-1]
        for c in coefficients[-2::-1]:
            result = result * x + c
        return result if result.shape == shape else np.broadcast_to(result, shape)
    return in_compute_dtype(horner, e.dtype)


@rule("sign")
def _sign(e: Equation) -> Callable:
    if kind(e.dtype) != "f":
        return np.sign
    return lambda x: np.where(np.equal(x, 0), x, np.sign(x))     # keeps -0.0


@rule("round")
def _round(e: Equation) -> Callable:
    if int(e.params["rounding_method"]) == 1:
        return np.rint

    def away_from_zero(x):
        whole = np.trunc(x)
        return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(x.dtype.type(1), x), whole)
    return in_compute_dtype(away_from_zero, e.dtype)


@rule("rsqrt")
def _rsqrt(e: Equation) -> Callable:
    one = opmath(e.dtype).type(1)
    return in_compute_dtype(lambda x: np.divide(one, np.sqrt(x)), e.dtype)


@rule("one_minus_square")
def _one_minus_square(e: Equation) -> Callable:
    one = opmath(e.dtype).type(1)
    return in_compute_dtype(lambda x: (one + x) * (one - x), e.dtype)


@rule("logistic")
def _logistic(e: Equation) -> Callable:
    """Return the formula of the logistic function. SciPy's ``expit`` is more exact, but is slower and needs an import."""
    one = opmath(e.dtype).type(1) if kind(e.dtype) != "c" else e.dtype.type(1)
    formula = lambda x: one / (one + np.exp(-x))
    return formula if kind(e.dtype) == "c" else in_compute_dtype(formula, e.dtype)


@rule("lgamma")
def _lgamma(e: Equation) -> Callable:
    infinity = opmath(e.dtype).type(np.inf)
    return in_compute_dtype(lambda x: np.where(np.isinf(x), infinity, sp.gammaln(x)), e.dtype)


@rule("digamma")
def _digamma(e: Equation) -> Callable:
    at_zero = -np.inf if jax.__version_info__ >= (0, 11) else np.nan

    def digamma(x):
        at_pole = np.where(np.equal(x, 0), x.dtype.type(at_zero), x.dtype.type(np.nan))
        return np.where((x <= 0) & (x == np.floor(x)), at_pole, sp.psi(x))
    return in_compute_dtype(digamma, e.dtype)


@rule("polygamma")
def _polygamma(e: Equation) -> Callable:
    def polygamma(n, x):
        return np.asarray(sp.polygamma(n, x)).astype(x.dtype)
    return in_compute_dtype(polygamma, e.dtype)


@rule("complex")
def _complex(e: Equation) -> Callable:
    dtype, shape = e.dtype, e.shape

    def combine(re, im):
        out = np.empty(shape, dtype)
        out.real, out.imag = re, im
        return out
    return combine


@rule("conj")
def _conj(e: Equation) -> Callable:
    dtype = e.dtype
    return np.conj if e.ins[0].dtype == dtype else lambda x: x.astype(dtype)


@rule("select_n")
def _select_n(e: Equation) -> Callable:
    if len(e.ins) == 3 and kind(e.ins[0].dtype) == "b":
        if e.shape == ():
            return lambda which, when_false, when_true: when_true if which else when_false
        if prod(e.ins[0].shape) >= policy.MEDIUM and e.ins[0].shape == e.shape and e.dtype.itemsize in (1, 2, 4, 8):
            return _by_bits(e.dtype)
        return lambda which, when_false, when_true: np.where(which, when_true, when_false)
    return lambda which, *cases: np.choose(np.asarray(which).astype(np.intp), cases)


def _by_bits(dtype: np.dtype) -> Callable:
    bits = np.dtype(f"i{dtype.itemsize}")

    def is_zero(x):
        return x.ndim == 0 and not x.view(bits)

    def choose(which, when_false, when_true):
        mask = which.view(np.int8).astype(bits)
        if is_zero(when_true):
            np.subtract(mask, 1, out=mask)          # all bits are 1 where false
            return np.bitwise_and(mask, when_false.view(bits), out=mask).view(dtype)
        np.negative(mask, out=mask)                 # all bits are 1 where true
        if is_zero(when_false):
            return np.bitwise_and(mask, when_true.view(bits), out=mask).view(dtype)
        other = when_false.view(bits)
        np.bitwise_and(mask, np.bitwise_xor(other, when_true.view(bits)), out=mask)
        return np.bitwise_xor(mask, other, out=mask).view(dtype)
    return choose


@rule("clamp")
def _clamp(e: Equation) -> Callable:
    return lambda low, x, high: np.minimum(np.maximum(x, low), high)


@rule("shift_left", "shift_right_arithmetic", "shift_right_logical")
def _shift(e: Equation) -> Callable:
    if e.name == "shift_left":
        return np.left_shift
    dtype = e.dtype
    if e.name == "shift_right_arithmetic" or dtype.kind == "u":
        return np.right_shift
    bits = np.dtype(f"u{dtype.itemsize}")
    return lambda x, n: np.right_shift(x.view(bits), n.view(bits)).view(dtype)


@rule("population_count")
def _population_count(e: Equation) -> Callable:
    dtype = e.dtype
    bits = np.dtype(f"u{dtype.itemsize}")
    return lambda x: np.bitwise_count(x.view(bits)).astype(dtype)


@rule("clz")
def _clz(e: Equation) -> Callable:
    dtype, width = e.dtype, e.dtype.itemsize * 8
    bits = np.dtype(f"u{dtype.itemsize}")

    def clz(x):
        x, n = x.view(bits), np.zeros(x.shape, dtype)
        for half in (32, 16, 8, 4, 2, 1):
            if half < width:
                high = np.right_shift(x, bits.type(half))
                x, n = np.where(high != 0, high, x), np.where(high != 0, n, n + dtype.type(half))
        return np.where(x == 0, dtype.type(width), n)
    return clz


@rule("lt_to", "le_to", "eq_to")
def _total_order(e: Equation) -> Callable:
    compare = {"lt_to": np.less, "le_to": np.less_equal, "eq_to": np.equal}[e.name]
    dtype = e.ins[0].dtype
    if kind(dtype) != "f":
        return compare
    signed = np.dtype(f"i{dtype.itemsize}")

    def key(x):     # the magnitude bits of negative floats are flipped, so that integers have the order of floats
        i = x.view(signed)
        return np.where(i < 0, np.bitwise_xor(i, np.iinfo(signed).max), i)
    return lambda a, b: compare(key(a), key(b))


@rule("bitcast_convert_type")
def _bitcast(e: Equation) -> Callable:
    old, new, shape = e.ins[0].dtype, e.dtype, e.shape
    require("b" not in (kind(old), kind(new)))
    if old.itemsize == new.itemsize:
        return lambda x: x.view(new)
    return lambda x: np.ascontiguousarray(x).reshape(-1).view(new).reshape(shape)


@rule("reduce_precision")
def _reduce_precision(e: Equation) -> Callable:
    bits = e.params["exponent_bits"], e.params["mantissa_bits"]
    formats = {(5, 10): np.dtype(np.float16), (8, 7): BFLOAT16, (8, 23): FLOAT32, (11, 52): np.dtype(np.float64)}
    require(bits in formats)
    dtype, narrow = e.dtype, formats[bits]
    if narrow == dtype or (dtype in HALF and narrow not in HALF):
        return lambda x: x
    return lambda x: x.astype(narrow).astype(dtype)


@rule("convert_element_type")
def _convert(e: Equation) -> Callable:
    return convert(e.ins[0].dtype, e.dtype)


@rule(TRUNCATION)
def _truncate(e: Equation) -> Callable:
    return truncation(e.ins[0].dtype, e.dtype)


def convert(old: np.dtype, new: np.dtype) -> Callable:
    """Return a cast with XLA's results.

    A cast of floats to integers truncates and clamps. A cast of complex numbers to real ones drops the imaginary part.
    """
    if old == new:
        return lambda x: x
    if kind(new) == "b":
        return lambda x: np.not_equal(x, old.type(0))
    if kind(old) == "c" and kind(new) != "c":
        part = old.type(0).real.dtype
        cast = convert(part, new)
        return lambda x: cast(x.real)
    if kind(old) == "f" and kind(new) in "iu":
        return _float_to_int(old, new)
    return lambda x: x.astype(new)


def _float_to_int(old: np.dtype, new: np.dtype) -> Callable:
    info = np.iinfo(new)
    if old in HALF:
        wide = _float_to_int(FLOAT32, new)
        return lambda x: wide(x.astype(FLOAT32))
    low, above = old.type(info.min), old.type(float(info.max) + 1)     # both are powers of two (or 0), so exact

    def cast(x):
        if new.itemsize >= 4 and new.kind == "i":
            made = x.astype(new)        # Processors give the least integer, or the clamped one, for numbers out of range.
            if not made.size or np.minimum.reduce(made, None) > info.min:
                return made
        inside = (x > low - 1) & (x < above)
        if inside.all():
            return x.astype(new)
        cut = np.where(inside, x, old.type(0)).astype(new)
        return np.where(x >= above, new.type(info.max), np.where(x <= low, new.type(info.min), cut))
    return cast

