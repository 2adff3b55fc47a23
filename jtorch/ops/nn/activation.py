"""Non-linear activation functions. See https://docs.pytorch.org/docs/stable/nn.functional.html#non-linear-activation-functions.

At a corner of a function, the comparisons are written so that JAX's gradient is PyTorch's: a value
that a ``where`` does not select gets no gradient.
"""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import check, promotion
from jtorch.ops import derivatives_from_result as from_result
from jtorch.ops.elementwise import derivative, logistic, widen
from jtorch.ops.facts import JOINTLY, InPlace, Memory, Saves
from jtorch.ops.layout import HALVES, ITERATED, LIKE_FIRST
from jtorch.ops.nn._common import functional, not_implemented, require_float
from jtorch.ops.registry import Scalar, Tensor, op

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@op(aliases=("nn.functional.relu",), inplace=True, out=False,
    saves=Saves("result", idempotent=True, change=from_result.of_relu), memory=Memory(dtypes_first=True),
    layout=ITERATED)
def relu(input: Tensor):
    """Return the input where it is positive, else 0. See torch.nn.functional.relu."""
    check.require(input.dtype != jnp.bool_, "Boolean inputs not supported for relu")
    _not_complex(input)
    return _relu(input)


@derivative(lambda t, r, x: jnp.where(x <= 0, 0, t))        # the gradient passes at nan; that of jax.nn.relu is 0
def _relu(x):
    return jnp.where(x < 0, jnp.zeros_like(x), x)           # jnp.maximum would turn -0 into 0


def _not_complex(x: jax.Array) -> None:
    check.require(not promotion.is_complex(np.dtype(x.dtype)), "clamp is not supported for complex types",
                  NotImplementedError)


def _check_hardtanh(x: jax.Array, low: float) -> None:
    check.require(x.dtype != jnp.bool_, "Bool inputs not supported for hardtanh")
    check.require(x.dtype != jnp.uint8 or low >= 0, "cannot do hardtanh on an unsigned type with negative limits")
    _not_complex(x)


def _hardtanh(x: jax.Array, low: float, high: float) -> jax.Array:
    return _between(x, jnp.asarray(low, x.dtype), jnp.asarray(high, x.dtype))


@derivative(lambda t, r, x, low, high: jnp.where((x <= low) | (x >= high), 0, t), None, None)
def _between(x, low, high):
    return jnp.where(x < low, low, jnp.where(x > high, high, x))


@functional(inplace=True, memory=Memory(dtypes_first=True), layout=LIKE_FIRST)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0):
    """Return the input, at least ``min_val`` and at most ``max_val``. See torch.nn.functional.hardtanh."""
    check.require(min_val <= max_val, "min_val cannot be greater than max_val", ValueError)
    _check_hardtanh(input, min_val)
    for number in (min_val, max_val):
        check.number_fits(number, input.dtype)
    return _hardtanh(input, min_val, max_val)


@functional(inplace=True, backward_name="HardtanhBackward0", memory=Memory(dtypes_first=True), layout=LIKE_FIRST)
def relu6(input: Tensor):
    """Return the input, at least 0 and at most 6. See torch.nn.functional.relu6."""
    _check_hardtanh(input, 0)
    return _hardtanh(input, 0, 6)


@functional(inplace=True, layout=ITERATED)
def leaky_relu(input: Tensor, negative_slope: Scalar = 0.01):
    """Return the input where it is positive, else ``negative_slope`` times it. See torch.nn.functional.leaky_relu."""
    require_float(input, "leaky_relu_cpu")
    check.number_fits(negative_slope, input.dtype, wide=True)
    return _leaky(input, negative_slope)


def _leaky(x: jax.Array, slope: float) -> jax.Array:
    wide = widen(x)
    return jnp.where(wide > 0, wide, wide * slope).astype(x.dtype)


@functional(inplace=True, backward_name="RreluWithNoiseBackward0", aliases=("rrelu",), layout=ITERATED)
def rrelu(input: Tensor, lower: Scalar = 1 / 8, upper: Scalar = 1 / 3, training: bool = False):
    """Return leaky_relu with the mean of ``lower`` and ``upper`` as its slope. See torch.nn.functional.rrelu."""
    check.require(lower <= upper, "Lower bound should be less than or equal to the upper bound")
    if training:
        raise NotImplementedError("rrelu draws its slopes outside this op where training=True")
    require_float(input, "leaky_relu_cpu")
    check.number_fits((lower + upper) / 2, input.dtype, wide=True)
    return _leaky(input, (lower + upper) / 2)


@op(name="_rrelu_with_noise", function=False, method=False, out=False, tested=False,
    backward_name="RreluWithNoiseBackward0")
def rrelu_with_noise(input: Tensor, noise: Tensor):
    """Return rrelu in training: elements that are not positive are multiplied by their ``noise``."""
    require_float(input, "rrelu_with_noise_out_cpu")
    return jnp.where(input <= 0, input * noise, input)


def _elu(x: jax.Array, alpha: float, scale: float = 1.0, input_scale: float = 1.0) -> jax.Array:
    require_float(x, "elu_cpu")
    for number in (alpha, scale, input_scale):
        check.number_fits(number, x.dtype, wide=True)
    wide = widen(x)
    low = jnp.where(wide <= 0, wide, 0)     # else expm1 may overflow, which makes the gradient nan
    return jnp.where(wide <= 0, scale * alpha * jnp.expm1(low * input_scale), wide * scale).astype(x.dtype)


@functional(inplace=True, layout=ITERATED)
def elu(input: Tensor, alpha: Scalar = 1.0):
    """Return the input where it is positive, else ``alpha * (exp(input) - 1)``. See torch.nn.functional.elu."""
    return _elu(input, alpha)


@functional(inplace=True, aliases=("selu",), backward_name="EluBackward0", layout=ITERATED)
def selu(input: Tensor):
    """Return elu with the scale and alpha that keep mean 0 and variance 1. See torch.nn.functional.selu."""
    return _elu(input, _SELU_ALPHA, _SELU_SCALE)


@functional(inplace=True, aliases=("celu",), layout=ITERATED)
def celu(input: Tensor, alpha: Scalar = 1.0):
    """Return the input where it is positive, else ``alpha * (exp(input / alpha) - 1)``. See torch.nn.functional.celu."""
    check.require(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(input, alpha, 1.0, 1 / alpha)


@functional(layout=ITERATED)
def gelu(input: Tensor, *, approximate: str = "none"):
    """Return the input times the normal distribution function at it. See torch.nn.functional.gelu."""
    check.require(approximate in ("none", "tanh"), "approximate argument must be either none or tanh.")
    require_float(input, "GeluKernelImpl")
    wide = widen(input)
    if approximate == "tanh":
        return jax.nn.gelu(wide, approximate=True).astype(input.dtype)
    # PyTorch's formula; JAX's uses ``erfc``, which is more exact far below 0 but slower
    return (wide * (0.5 * (1 + lax.erf(wide * math.sqrt(0.5))))).astype(input.dtype)


@functional(inplace=True, layout=ITERATED)
def silu(input: Tensor):
    """Return ``input * sigmoid(input)``. See torch.nn.functional.silu."""
    if not promotion.is_inexact(np.dtype(input.dtype)):
        raise not_implemented("silu_cpu", input.dtype)
    wide = widen(input)
    return (wide * logistic(wide)).astype(input.dtype)


@functional(inplace=True, layout=ITERATED)
def mish(input: Tensor):
    """Return ``input * tanh(softplus(input))``. See torch.nn.functional.mish."""
    require_float(input, "mish_cpu")
    wide = widen(input)
    return (wide * jnp.tanh(jax.nn.softplus(wide))).astype(input.dtype)


@functional(inplace=True, layout=ITERATED)
def hardswish(input: Tensor):
    """Return ``input * relu6(input + 3) / 6``. See torch.nn.functional.hardswish."""
    require_float(input, "hardswish_cpu")
    return _hardswish(widen(input)).astype(input.dtype)


@derivative(lambda t, r, x: jnp.where(x <= -3, 0, t * jnp.where((x > -3) & (x < 3), x / 3 + 0.5, 1)))
def _hardswish(x):
    return jnp.where(x <= -3, 0 * x, jnp.where(x >= 3, x, x * (x + 3) / 6))


@functional(inplace=True, layout=ITERATED)
def hardsigmoid(input: Tensor):
    """Return ``relu6(input + 3) / 6``. See torch.nn.functional.hardsigmoid."""
    require_float(input, "hardsigmoid_cpu")
    return _hardsigmoid(widen(input)).astype(input.dtype)


@derivative(lambda t, r, x: jnp.where((x > -3) & (x < 3), t / 6, 0))
def _hardsigmoid(x):
    return _hardtanh(x + 3, 0, 6) / 6


@op(aliases=("nn.functional.hardshrink",), out=False, layout=ITERATED)
def hardshrink(input: Tensor, lambd: Scalar = 0.5):
    """Return the input, or 0 where it is within ``lambd`` of 0. See torch.nn.functional.hardshrink."""
    require_float(input, "hardshrink_cpu")
    check.number_fits(lambd, input.dtype)
    return jnp.where((input >= -lambd) & (input <= lambd), jnp.zeros_like(input), input)


@functional(layout=ITERATED)
def softshrink(input: Tensor, lambd: Scalar = 0.5):
    """Return the input moved towards 0 by ``lambd``, or 0. See torch.nn.functional.softshrink."""
    require_float(input, "softshrink_check")
    check.require(0 <= lambd <= float(jnp.finfo(input.dtype).max), "lambda must be in range [0, "
                  f"{float(jnp.finfo(input.dtype).max):g}] for input dtype {check.scalar_name(input.dtype)}, but found "
                  f"{lambd:g}")
    wide = widen(input)
    moved = jnp.where(wide > lambd, wide - lambd, wide + lambd)
    return jnp.where((wide >= -lambd) & (wide <= lambd), jnp.zeros_like(wide), moved).astype(input.dtype)


@functional(backward_name="SubBackward0", saves=Saves(checks=check.nothing), layout=ITERATED)
def tanhshrink(input: Tensor):
    """Return ``input - tanh(input)``. See torch.nn.functional.tanhshrink."""
    check.require(input.dtype != jnp.bool_, "Subtraction, the `-` operator, with a bool tensor is not supported. If "
                  "you are trying to invert a mask, use the `~` or `logical_not()` operator instead.")
    x = input.astype(promotion.to_float(np.dtype(input.dtype)))
    return x - jnp.tanh(x)


@functional(layout=ITERATED)
def softplus(input: Tensor, beta: Scalar = 1.0, threshold: Scalar = 20.0):
    """Return ``log(1 + exp(beta * input)) / beta``, the input itself above ``threshold``. See torch.nn.functional.softplus."""
    require_float(input, "softplus_cpu")
    for number in (beta, threshold):
        check.number_fits(number, input.dtype, wide=True)
    scaled = widen(input) * beta
    return jnp.where(scaled > threshold, input, (jax.nn.softplus(scaled) / beta).astype(input.dtype))


@functional(backward_name="DivBackward0", layout=ITERATED)
def softsign(input: Tensor):
    """Return ``input / (1 + |input|)``. See torch.nn.functional.softsign."""
    if input.dtype == jnp.bool_:
        raise not_implemented("abs_cpu", input.dtype)
    x = input.astype(promotion.to_float(np.dtype(input.dtype)))
    return x / (1 + jnp.abs(x)).astype(x.dtype)


@functional(backward_name="LogSigmoidBackward0")
def logsigmoid(input: Tensor):
    """Return ``log(sigmoid(input))``. See torch.nn.functional.logsigmoid."""
    require_float(input, "log_sigmoid_cpu")
    return jax.nn.log_sigmoid(widen(input)).astype(input.dtype)


@op(aliases=("nn.functional.prelu",), out=False, backward_name="PreluKernelBackward0", saves=JOINTLY, layout=LIKE_FIRST)
def prelu(input: Tensor, weight: Tensor):
    """Return the input where it is positive, else its channel's ``weight`` times it. See torch.nn.functional.prelu."""
    check.require(input.dtype == weight.dtype, "prelu: Type promoting not supported. Got "
                  f"{check.scalar_name(input.dtype)} and {check.scalar_name(weight.dtype)}")
    require_float(input, "prelu_cpu")
    check.require(weight.ndim <= 1, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
                  f"{weight.ndim}")
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.size != 1:
        check.require(input.ndim > 0, "Not allow zero-dim input tensor.")
        check.require(weight.size == channels, "Mismatch of parameter numbers and input channel size. Found parameter "
                      f"numbers = {weight.size} and channel size = {channels}.")
    slope = weight.reshape((1, -1) + (1,) * (input.ndim - 2) if input.ndim > 1 else (1,) * input.ndim)
    return jnp.where(input > 0, input, slope * input)


@functional(inplace=InPlace(True, fills=True), aliases=("threshold",), layout=ITERATED)
def threshold(input: Tensor, threshold: Scalar, value: Scalar):
    """Return the input where it is above ``threshold``, else ``value``. See torch.nn.functional.threshold."""
    if input.dtype == jnp.bool_ or promotion.is_complex(np.dtype(input.dtype)):
        raise not_implemented("threshold_cpu", input.dtype)
    check.number_fits(threshold, input.dtype, wide=True)
    check.number_fits(value, input.dtype)
    limit, below = (np.asarray(n).astype(input.dtype) for n in (threshold, value))       # integers wrap, as in C
    return jnp.where(input <= limit, below, input)


@functional(layout=HALVES)
def glu(input: Tensor, dim: int = -1):
    """Return the first half along ``dim`` times the sigmoid of the second. See torch.nn.functional.glu."""
    check.require(input.ndim > 0, "glu does not support 0-dimensional tensors")
    axis = check.wrap_dim(dim, input.ndim)
    check.require(input.shape[axis] % 2 == 0, f"Halving dimension must be even, but dimension {axis} is size "
                  f"{input.shape[axis]}")
    require_float(input, "glu_cpu")
    first, gate = jnp.split(widen(input), 2, axis=axis)
    return (first * logistic(gate)).astype(input.dtype)
