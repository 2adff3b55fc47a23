"""Fake quantization: rounding floats to a few steps. Products with weights of int8."""
from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import check
from jtorch.ops.registry import Number, Tensor, op
from jtorch.ops.registry import T as TENSOR


def _rounded(x: jax.Array, scale: jax.Array, zero_point: jax.Array, low: int, high: int) -> jax.Array:
    """Return ``x`` rounded to the nearest step from ``low`` to ``high``. The gradient passes between them and is 0 outside."""
    check.require(low <= high, "`quant_min` should be less than or equal to `quant_max`.")
    scale, zero_point = lax.stop_gradient(scale.astype(x.dtype)), lax.stop_gradient(zero_point.astype(x.dtype))
    step = jnp.round(lax.stop_gradient(x) * (1 / scale)) + zero_point
    inside = (step >= low) & (step <= high)
    return (jnp.clip(step, low, high) - zero_point) * scale + jnp.where(inside, x - lax.stop_gradient(x), 0)


def _outside(input, scale, zero_point, *rest):
    low, high = rest[-2:]
    return jnp.any((zero_point < low) | (zero_point > high)), jnp.zeros((), jnp.int64)


def _outside_error(detail: int, *args):
    return RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")


def _name(template: tuple) -> str:
    tensors = "TensorQparams" if template[1] is TENSOR else ""
    return f"FakeQuantizePerTensorAffineCachemask{tensors}Backward0"


@op(method=False, out=False, backward_name=_name, value_check=(_outside, _outside_error))
def fake_quantize_per_tensor_affine(input: Tensor, scale: Tensor | Number, zero_point: Tensor | Number, quant_min: int,
                                    quant_max: int):
    """Return ``input`` rounded to multiples of ``scale``, and cut off. See torch.fake_quantize_per_tensor_affine."""
    return _rounded(input, jnp.asarray(scale).reshape(()), jnp.asarray(zero_point).reshape(()), quant_min, quant_max)


@op(method=False, out=False, backward_name="FakeQuantizePerChannelAffineCachemaskBackward0",
    value_check=(_outside, _outside_error))
def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int,
                                     quant_max: int):
    """Return ``input`` rounded to multiples of a scale per slice along ``axis``. See torch.fake_quantize_per_channel_affine."""
    return _rounded(input, *_per_channel(input, scale, zero_point, axis), quant_min, quant_max)


def _per_channel(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> tuple[jax.Array, jax.Array]:
    """Return the scale and the zero point of each slice in a shape that broadcasts."""
    check.require(scale.ndim == 1, "scale should be a 1-D tensor")
    check.require(zero_point.ndim == 1, "zero point should be a 1-D tensor")
    check.require(scale.size == zero_point.size, "scale and zero-point need to have the same dimensions")
    axis = check.wrap_dim(axis, input.ndim)
    check.require(scale.size == input.shape[axis], "dimensions of scale and zero-point are not consistent with input tensor")
    shape = [1] * input.ndim
    shape[axis] = scale.size
    return scale.reshape(shape), zero_point.reshape(shape)


def _learned(x: jax.Array, scale: jax.Array, zero_point: jax.Array, used: jax.Array, derived: jax.Array, low: int, high: int,
             grad_factor: float) -> jax.Array:
    """Return ``x`` rounded with a zero point ``used``, and PyTorch's gradients for the zero point ``derived``.

    The gradient of the scale is the rounding error in steps, or the distance of the last step outside of the range.
    """
    check.require(low <= high, "`quant_min` should be less than or equal to `quant_max`.")
    x0, scale0, zero0 = map(lax.stop_gradient, (x, scale.astype(x.dtype), zero_point.astype(x.dtype)))
    used, derived = lax.stop_gradient(used.astype(x.dtype)), lax.stop_gradient(derived.astype(x.dtype))
    out = (jnp.clip(jnp.round(x0 * (1 / scale0)) + used, low, high) - used) * scale0
    step = jnp.round(x0 * (1 / scale0) + derived)
    inside = (step >= low) & (step <= high)
    error = ((jnp.clip(step, low, high) - derived) * scale0 - x0) / scale0
    by_scale = jnp.where(inside, error, jnp.where(step < low, low - derived, high - derived)) * grad_factor
    by_zero = jnp.where(inside, 0, -scale0) * grad_factor
    return (out + jnp.where(inside, x - x0, 0) + by_scale * (scale.astype(x.dtype) - scale0)
            + by_zero * (zero_point.astype(x.dtype) - zero0))


@op(name="_fake_quantize_learnable_per_tensor_affine", method=False, out=False,
    backward_name="FakeQuantizeLearnablePerTensorAffineBackward0", tested=False)
def _fake_quantize_learnable_per_tensor_affine(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int,
                                               grad_factor: float = 1.0):
    """Return ``input`` rounded to multiples of ``scale[0]``, with gradients of the scale and the zero point."""
    check.require(scale.ndim and zero_point.ndim, "select() cannot be applied to a 0-dim tensor.", IndexError)
    scale, zero = scale.reshape(-1)[0], zero_point.reshape(-1)[0]
    used, derived = (jnp.clip(z, quant_min, quant_max) for z in (jnp.round(zero), jnp.trunc(zero + 0.5)))
    return _learned(input, scale, zero, used, derived, quant_min, quant_max, grad_factor)


@op(name="_fake_quantize_learnable_per_channel_affine", method=False, out=False,
    backward_name="FakeQuantizeLearnablePerChannelAffineBackward0", tested=False)
def _fake_quantize_learnable_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int,
                                                quant_max: int, grad_factor: float = 1.0):
    """Return ``input`` rounded to multiples of a scale per slice along ``axis``, with gradients of scales and zero points."""
    scale, zero = _per_channel(input, scale, zero_point, axis)
    used = jnp.clip(jnp.round(zero), quant_min, quant_max)
    return _learned(input, scale, zero, used, used, quant_min, quant_max, grad_factor)


# ---------------------------------------------------------------- products with quantized weights

class Integers(NamedTuple):
    """A matrix of int8 that stands for ``(values - zero_points) * scales``, with one scale for all rows or one for each."""

    values: jax.Array
    scales: jax.Array
    zero_points: jax.Array


LEAST_SCALE = float(np.float32(6.1e-5))        # PyTorch replaces smaller scales by this one.
_LEVELS = 127       # The greatest level. With 255 the 8-bit products of processors without VNNI overflow.


def _dynamic_range(x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the least and the greatest element, with 0 between them, and the distance of two levels, in float64."""
    low, high = (f(x, initial=0.0).astype(jnp.float64) for f in (jnp.min, jnp.max))
    scale = (high - low) / lax.optimization_barrier(jnp.float64(_LEVELS))        # otherwise XLA would multiply by 1 / _LEVELS
    is_none = 1 / scale.astype(jnp.float32) == jnp.inf
    factor = jnp.where(is_none, 1, jnp.maximum(LEAST_SCALE / jnp.where(is_none, 1, scale), 1))
    return low * factor, high * factor, jnp.where(is_none, 0.1, jnp.maximum(scale, LEAST_SCALE))


def _dynamically(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return (``x`` rounded to integers, minus the zero point; the scale). Both depend on the range of ``x``."""
    low, high, scale = _dynamic_range(x)
    from_low, from_high = -low / scale, _LEVELS - high / scale
    exact = jnp.where(from_low < _LEVELS + high / scale, from_low, from_high)
    zero_point = jnp.round(jnp.clip(exact, 0, _LEVELS)).astype(jnp.int32)
    scale = scale.astype(jnp.float32)
    levels = jnp.round(lax.optimization_barrier(x * lax.optimization_barrier(1 / scale)) + zero_point.astype(jnp.float32))
    return jnp.clip(levels, 0, 255).astype(jnp.int32) - zero_point, scale


def times_integers(x: jax.Array, weight: Integers) -> jax.Array:
    """Return ``x @ weight.T`` with ``x`` rounded to 7 bits, as PyTorch's kernels for x86 do. The sums are exact."""
    rounded, scale = _dynamically(x)
    rows = weight.values.astype(jnp.int32) - jnp.broadcast_to(weight.zero_points[:, None], weight.values.shape)
    total = lax.dot_general(rounded, rows, (((x.ndim - 1,), (1,)), ((), ())))
    return total.astype(jnp.float32) * jnp.broadcast_to(scale * weight.scales, total.shape)


@op(name="_linear_quantized", function=False, method=False, out=False, differentiable=False, tested=False,
    not_derived=lambda template: "quantized::linear_dynamic")
def linear_quantized(input: Tensor, weight: Tensor, scales: Tensor, zero_points: Tensor, bias: Tensor | None):
    """Return ``input @ weight.T + bias`` for a weight of int8 with its scales. The input is rounded for each call."""
    made = times_integers(input, Integers(weight, scales, zero_points))
    return made if bias is None else made + jnp.broadcast_to(bias, made.shape)
