"""Pointwise arithmetic with two operands: sums, products, quotients, remainders and powers."""
from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

import jtorch.dtype as dtypes
from jtorch.ops import _branch_cuts, check, out_dtypes, promotion
from jtorch.ops.elementwise import (
    NEVER,
    beyond_first,
    broadcast,
    derivative,
    divide,
    divides_by_zero,
    floor_div,
    kind,
    like,
    modulo,
    numbered,
    rest,
    trunc_div,
    unsupported,
    widen,
    zero_division,
)
from jtorch.ops.facts import Memory, Out, Saves
from jtorch.ops.layout import ITERATED, POWER, RECIPROCAL
from jtorch.ops.registry import OPS, Number, T, Tensor, op


@op(numbers_only=True, promote="numeric", opmath=True, operators=("__add__", "__radd__", "__iadd__"), saves="none", fits="alpha")
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1):
    """Add ``alpha`` times ``other``. See torch.add."""
    return input + _scaled(other, alpha)


ADD = OPS["add"]        # backward adds gradients with this op


def _scaled(x, alpha):
    """Return ``alpha * x``. PyTorch's kernels multiply complex numbers even by 1, which turns infinities into nan."""
    if not isinstance(alpha, check.Int) or alpha != 1:
        return alpha * x
    return _times_one(x) if jnp.iscomplexobj(x) else x


@derivative(lambda t, r, x: t)
def _times_one(x):
    return lax.complex(x.real - x.imag * 0, x.imag + x.real * 0)


def no_bools(dtypes):
    """Raise RuntimeError for a subtraction of bools."""
    if all(d == np.bool_ for d in dtypes):
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. "
                           "Use the `^` or `logical_xor()` operator instead.")
    if any(d == np.bool_ for d in dtypes):
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
                           "mask, use the `~` or `logical_not()` operator instead.")


@op(numbers_only=True, promote="numeric", opmath=True, aliases=("subtract",), operators=("__sub__", "__rsub__", "__isub__"),
    saves="none", refuses=no_bools, backward_name=lambda template: "SubBackward0" if template[0] is T else "RsubBackward1",
    memory=Memory(dtypes_first=True), fits="alpha")
def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1):
    """Subtract ``alpha`` times ``other``. See torch.sub."""
    return _less(input, other, alpha)


def _less(x, y, alpha):
    if isinstance(alpha, check.Int) and alpha == 1:
        return x + _times_minus_one(y) if jnp.iscomplexobj(y) else x - y
    return x - alpha * y


@derivative(lambda t, r, x: -t)
def _times_minus_one(x):
    return lax.complex(-x.real - x.imag * 0, x.real * 0 - x.imag)


@op(promote="numeric", opmath=True, saves="none", method=False, inplace=False, out=False, refuses=no_bools,
    backward_name=numbered("Rsub", 1, tensor=0, number=1), fits="alpha")
def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1):
    """Return ``other`` minus ``alpha`` times ``input``. See torch.rsub."""
    return _less(other, input, alpha)


@op(numbers_only=True, promote="numeric", opmath=True, exact="other", aliases=("multiply",),
    operators=("__mul__", "__rmul__", "__imul__"))
def mul(input: Tensor | Number, other: Tensor | Number):
    """Return the product. See torch.mul."""
    return input * other


def _div_backward(template) -> str:
    if template[2] is None:
        return "DivBackward0"
    return f"DivBackward{2 if template[1] is T else 3}"


_ROUNDING = (None, "trunc", "floor")


def _rounded(input, other, rounding_mode: str, dtype: Any):
    """Return the rounded quotient. For a 16-bit ``dtype`` each step is rounded, unless ``other`` is a single number."""
    unsupported(f"div_{rounding_mode}_cpu", input, "bc")
    if input.dtype == dtype or other.size == 1:
        made = (trunc_div if rounding_mode == "trunc" else floor_div)(input, other)
    elif rounding_mode == "trunc":
        made = jnp.trunc(divide(input, other).astype(dtype))
    else:
        made = floor_div(input.astype(dtype), other.astype(dtype))
    return lax.stop_gradient(made.astype(input.dtype))


@op(numbers_only=True, promote="numeric", opmath=True, exact="other", aliases=("divide",),
    backward_name=_div_backward,
    value_check=(lambda input, other, *, rounding_mode=None: divides_by_zero(input, other) if rounding_mode else NEVER,
                 zero_division))
def div(input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = None, compute: Any):
    """Return the quotient, rounded if ``rounding_mode`` is "trunc" or "floor". See torch.div."""
    if rounding_mode not in _ROUNDING:
        raise RuntimeError("div expected rounding_mode to be one of None, 'trunc', or 'floor' "
                           f"but found '{rounding_mode}'")
    if rounding_mode is not None:
        return _rounded(input, other, rounding_mode, compute)
    to = promotion.to_float(np.dtype(input.dtype))
    return divide(input.astype(to), other.astype(to))


@op(numbers_only=True, promote="int_to_float", opmath=True, exact="other",
    operators=("__truediv__", "__itruediv__", "__div__", "__idiv__"), backward_name="DivBackward0")
def true_divide(input: Tensor | Number, other: Tensor | Number):
    """Return the quotient. See torch.true_divide."""
    return divide(input, other)


@op(promote="numeric", operators=("__rtruediv__", "__rdiv__"), function=False, method=False, inplace=False, out=False,
    backward_name="MulBackward0", saves=Saves(checks=check.nothing), layout=RECIPROCAL, exact="input")
def rdiv(input: Tensor | Number, other: Tensor):
    """Return a number divided by a tensor, computed with the reciprocal as in PyTorch."""
    other = other.astype(promotion.to_float(np.dtype(other.dtype)))
    reciprocal = widen(divide(like(other, 1), other))
    return (reciprocal * input.astype(reciprocal.dtype)).astype(other.dtype)


@op(numbers_only=True, promote="numeric", opmath=True, exact="other",
    operators=("__floordiv__", "__rfloordiv__", "__ifloordiv__"), differentiable=False, not_derived=True,
    value_check=(divides_by_zero, zero_division))
def floor_divide(input: Tensor | Number, other: Tensor | Number, *, compute: Any):
    """Return the quotient rounded down. See torch.floor_divide."""
    return _rounded(input, other, "floor", compute)


@derivative(lambda t, r, a, b: t, lambda t, r, a, b: -t * floor_div(a, b))
def _remainder(a, b):
    return modulo(a, b)


@op(promote="numeric", operators=("__mod__", "__rmod__", "__imod__"), saves=Saves(frees=beyond_first),
    value_check=(divides_by_zero, zero_division), backward_name=numbered("Remainder", 1, tensor=1, number=0))
def remainder(input: Tensor | Number, other: Tensor | Number):
    """Return the remainder of floor division, with the sign of ``other``. See torch.remainder."""
    unsupported("remainder_cpu", input, "bc")
    return _remainder(input, other)


@derivative(lambda t, r, a, b: t, lambda t, r, a, b: -t * trunc_div(a, b))
def _fmod(a, b):
    return rest(a, b)


@op(promote="numeric", value_check=(divides_by_zero, zero_division), saves=Saves(frees=beyond_first),
    backward_name=numbered("Fmod", 1, tensor=1, number=0))
def fmod(input: Tensor, other: Tensor | Number):
    """Return the remainder of truncating division, with the sign of ``input``. See torch.fmod."""
    unsupported("fmod_cpu", input, "bc")
    return _fmod(input, other)


def _pow_d_exponent(t, r, a, b):
    nonnegative = b.real >= 0 if kind(b) != "c" else (b.imag == 0) & (b.real >= 0)
    flat = (a == 0) & nonnegative
    return t * jnp.where(flat, 0, r * jnp.log(jnp.where(flat, 1, a)))


@derivative(lambda t, r, a, b: t * jnp.where(b == 0, 0, b * _power(a, b - 1)), _pow_d_exponent)
def _power(a, b):
    if kind(a) != "c":
        return jnp.power(a, b)
    return jnp.where((a == 0) & (b.real > 0) & (b.imag != 0), 0, jnp.power(a, b))


def _int_power(a, b):
    """Return integer powers of integers, with wraparound. Negative powers are 0 except for 1 and -1."""
    odd = jnp.where(b % 2 == 0, jnp.ones_like(a), a)
    unit = (a == 1) | (a == like(a, -1)) if a.dtype.kind == "i" else a == 1
    return jnp.where(b < 0, jnp.where(unit, odd, jnp.zeros_like(a)), _wrapped_power(a, jnp.maximum(b, 0)))


def _wrapped_power(a, b):
    """Return ``a ** b``. jnp.power reads only six bits of an integer exponent, so this handles six bits at a time."""
    def further(state):
        made, a, b = state
        a = lax.integer_pow(a, 64)
        return made * jnp.power(a, b & 63), a, b >> 6
    return lax.while_loop(lambda state: jnp.any(state[2] > 0), further, (jnp.power(a, b & 63), a, b >> 6))[0]


def _static_power(x, exponent):
    """Return ``x`` to a static power, with multiplications and roots in the cases where PyTorch uses them."""
    if exponent == 0:
        return lax.stop_gradient(jnp.ones_like(x))
    if exponent in (0.5, -0.5):
        return _branch_cuts.sqrt(x) if exponent > 0 else lax.rsqrt(x)
    if kind(x) == "i" or (not isinstance(exponent, complex) and float(exponent).is_integer() and abs(exponent) <= 16):
        return _whole_power(x, int(exponent))
    return _power(x, like(x, exponent))


def _whole_power(x, exponent: int):
    """Return ``x`` to an integer power, rounded once. For bfloat16 PyTorch also rounds the square in the powers 3 and -2."""
    if x.dtype == jnp.bfloat16 and exponent in (3, -2):
        return x * x * x if exponent == 3 else like(x, 1) / (x * x)
    return lax.integer_pow(widen(x), exponent).astype(x.dtype)


def _pow_backward(template) -> str:
    if template[1] is not T:
        return "PowBackward0"
    return f"PowBackward{1 if template[0] is T else 2}"


def _pow_checks(template, edges) -> tuple | None:
    """Return the ``checks`` of a power (see ``Saves``): only the base if the exponent is a number, else None."""
    return (0,) if template[1] is not T else None


@op(promote="numeric", operators=("__pow__", "__rpow__", "__ipow__"), backward_name=_pow_backward,
    saves=Saves("both", checks=_pow_checks), memory=Memory(dtypes_first=True), loops=True, layout=POWER)
def pow(input: Tensor | Number, exponent: Tensor | complex):
    """Return ``input`` to the power ``exponent``. See torch.pow."""
    if not isinstance(exponent, (check.Int, float, complex)):
        unsupported("pow", input, "b")
        return _int_power(input, exponent) if kind(input) == "i" else _power(input, exponent)
    operands = ((np.dtype(input.dtype), promotion.DIM), (dtypes.default_of_number(type(exponent)), promotion.NUMBER))
    compute = promotion.result_type(operands)
    if compute == np.bool_:
        return input | (not exponent)
    if compute.kind in "iu" and exponent < 0:     # type: ignore[operator]
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if compute.kind in "iu" or compute in promotion.OPMATH:
        check.number_fits(exponent, compute)
    return _static_power(input.astype(compute), exponent)


@op(inplace=True, backward_name=_pow_backward, saves=Saves("both", checks=_pow_checks), layout=POWER,
    out=Out(refuses=out_dtypes.refusal("the output given to float_power has dtype {out} but the operation's result requires "
                                       "dtype {made}")))
def float_power(input: Tensor | Number, exponent: Tensor | complex):
    """Return ``pow`` computed in float64 or complex128. See torch.float_power."""
    complex_ = any(isinstance(x, complex) or (hasattr(x, "dtype") and kind(x) == "c") for x in (input, exponent))
    to = jnp.complex128 if complex_ else jnp.float64
    if not hasattr(exponent, "dtype"):
        return _static_power(input.astype(to), exponent)
    return _power(*broadcast(input.astype(to), exponent.astype(to)))     # type: ignore[union-attr]


@op(promote="numeric", backward_name="PowBackward0")
def square(input: Tensor):
    """Return each element times itself. See torch.square."""
    return pow(input, 2)


@op(promote="numeric", opmath=True, exact="value", saves=Saves(frees=beyond_first), fits="value:opmath")
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1):
    """Add ``value * tensor1 * tensor2``. See torch.addcmul."""
    unsupported("addcmul_cpu_out", input, "b")
    return input + _scaled(tensor1, value) * tensor2


@op(promote="numeric", opmath=True, exact="value", fits="value:opmath")
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1):
    """Add ``value * tensor1 / tensor2``. See torch.addcdiv."""
    check.require(kind(input) not in "ib", _ADDCDIV)
    return input + divide(_scaled(tensor1, value), tensor2)


_ADDCDIV = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
    "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
    "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
    "for float inputs. The future addcdiv behavior is just the latter implementation: "
    "(input + value * tensor1 / tensor2), for all dtypes.")


@op(inplace=True, backward_name=numbered("Lerp", 2, tensor=1, number=0),
    saves=Saves(frees=lambda template, edges: template[2] is T), layout=ITERATED, fits="weight:opmath")
def lerp(input: Tensor, end: Tensor, weight: Tensor | Number):
    """Return ``input + weight * (end - input)``. See torch.lerp."""
    for name, x in (("end", end), ("weight", weight)):
        check.require(x.dtype == input.dtype or (name == "weight" and x.ndim == 0),
                      f"expected dtype {_c_name(input)} for `{name}` but got dtype {_c_name(x)}")
    check.broadcast_shapes(input.shape, end.shape, weight.shape)
    unsupported("lerp_kernel_tensor" if weight.ndim else "lerp_kernel_scalar", input, "ib")
    check.require_fits(weight, input.dtype)
    dtype = np.dtype(input.dtype)
    input, end, weight = broadcast(*[x.astype(promotion.opmath(dtype)) for x in (input, end, weight)])
    near = jnp.abs(lax.stop_gradient(weight)) < 0.5
    from_end = end - (end - input) * (1 - weight)
    return jnp.where(near, input + weight * (end - input), from_end).astype(dtype)


def _c_name(x) -> str:
    return {"Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16", "Long": "long int",
            "Int": "int", "Bool": "bool"}.get(check.scalar_name(x.dtype), check.scalar_name(x.dtype))


@op(promote="numeric", operators=("__neg__",), aliases=("negative",), saves="none", memory=Memory(dtypes_first=True),
    out=Out(refuses=out_dtypes.FOUND))
def neg(input: Tensor):
    """Return each element negated. See torch.neg."""
    check.require(kind(input) != "b", "Negation, the `-` operator, on a bool tensor is not supported. If you are "
                  "trying to invert a mask, use the `~` or `logical_not()` operator instead.")
    return -input


@op(promote="numeric", differentiable=False, loops=True)
def gcd(input: Tensor, other: Tensor):
    """Return the greatest common divisor. See torch.gcd."""
    unsupported("gcd_cpu", input, "bfc")
    return jnp.gcd(input, other)


@op(promote="numeric", differentiable=False, loops=True)
def lcm(input: Tensor, other: Tensor):
    """Return the least common multiple. See torch.lcm."""
    unsupported("lcm_cpu", input, "bfc")
    return jnp.lcm(input, other)
