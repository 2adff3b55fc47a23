"""Fake quantization: rounding floats to a few steps. See torch.fake_quantize_per_tensor_affine."""
from __future__ import annotations

import jax
import jax.numpy as jnp
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
    """Return the same with a scale and a zero point per slice along ``axis``. See torch.fake_quantize_per_channel_affine."""
    check.require(scale.ndim == 1, "scale should be a 1-D tensor")
    check.require(zero_point.ndim == 1, "zero point should be a 1-D tensor")
    check.require(scale.size == zero_point.size, "scale and zero-point need to have the same dimensions")
    check.require(scale.size == input.shape[axis], "dimensions of scale and zero-point are not consistent with input tensor")
    shape = [1] * input.ndim
    shape[axis] = scale.size
    return _rounded(input, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)
