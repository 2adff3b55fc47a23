"""torch.ops.quantized_decomposed: affine quantization in plain integer tensors, as exported programs call it.

A quantized value ``q`` stands for ``(q - zero_point) * scale``. Scales and zero points are arguments: one for a tensor, one for
each index of a dim ("channel"), for each row ("token"), or for each group of a row's elements.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jtorch._api import functions as torch
from jtorch._api.creation import tensor
from jtorch._base.dtype_info import finfo, iinfo
from jtorch._library.libraries import Library
from jtorch.autograd.function import Function
from jtorch.dtype import dtype as Dtype
from jtorch.dtype import named
from jtorch.tensor import Tensor

_float32, _float64, _int32, _int64 = map(named, ("float32", "float64", "int32", "int64"))
_HALVES = (named("float16"), named("bfloat16"))
BOUNDS = {**{named(n): (iinfo(named(n)).min, iinfo(named(n)).max) for n in ("uint8", "int8", "uint16", "int16", "int32")},
          **{named(n): (int(finfo(named(n)).min), int(finfo(named(n)).max)) for n in ("float8_e5m2", "float8_e4m3fn")}}
_RANGE = "int quant_min, int quant_max, ScalarType dtype"
_OUT = "ScalarType? out_dtype=None"

library = Library("quantized_decomposed", "DEF")


def _operator(schema: str) -> Callable:
    """Define an operator with its kernel, which is differentiable if its functions are."""
    def register(kernel: Callable) -> Callable:
        library.define(schema)
        library.impl(schema.partition("(")[0], kernel, "CompositeImplicitAutograd")
        return kernel
    return register


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def _check_range(quant_min: Any, quant_max: Any, dtype: Dtype) -> None:
    if dtype not in BOUNDS:
        raise ValueError(f"Unsupported dtype: {dtype}")
    low, high = BOUNDS[dtype]
    _check(quant_min >= low, f"quant_min out of bounds for dtype, quant_min_lower_bound: {low} quant_min: {quant_min}")
    _check(quant_max <= high, f"quant_max out of bounds for dtype, quant_max_upper_bound: {high} quant_max: {quant_max}")


def _as_float32(input: Tensor) -> Tensor:
    input = input.to(_float32) if input.dtype in _HALVES else input
    _check(input.dtype is _float32, f"Expecting input to have dtype torch.float32, but got dtype: {input.dtype}")
    return input


def _check_dtype(input: Tensor, dtype: Dtype, said: str = "") -> None:
    _check(input.dtype is dtype, f"Expecting input to have dtype: {dtype}, but got {said}{input.dtype}")


# ---------------------------------------------------------------- per tensor

@_operator(f"quantize_per_tensor(Tensor input, float scale, int zero_point, {_RANGE}) -> Tensor")
def quantize_per_tensor(input: Tensor, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Dtype) -> Tensor:
    """Quantize with one scale and zero point. ``input``: float32, float16 or bfloat16."""
    input = _as_float32(input)
    _check_range(quant_min, quant_max, dtype)
    return torch.clamp(torch.round(input * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype)


def _scalars(scale: Tensor, zero_point: Tensor) -> tuple[float, int]:
    _check(zero_point.numel() == 1, f"Expecting zero_point tensor to be one element, but received : {zero_point.numel()}")
    _check(scale.numel() == 1, f"Expecting scale tensor to be one element, but received : {scale.numel()}")
    return scale.item(), zero_point.item()


@_operator(f"quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, {_RANGE}) -> Tensor")
def _quantize_by_tensors(input: Tensor, scale: Tensor, zero_point: Tensor, *rest: Any) -> Tensor:
    return quantize_per_tensor(input, *_scalars(scale, zero_point), *rest)


@_operator("quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, "
           "ScalarType dtype) -> Tensor")
def _quantize_by_tensors_with_range(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: Tensor, quant_max: Tensor,
                                    dtype: Dtype) -> Tensor:
    return quantize_per_tensor(input, *_scalars(scale, zero_point), quant_min.item(), quant_max.item(), dtype)


@_operator(f"dequantize_per_tensor(Tensor input, float scale, int zero_point, {_RANGE}, *, {_OUT}) -> Tensor")
def dequantize_per_tensor(input: Tensor, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Dtype, *,
                          out_dtype: Dtype | None = None) -> Tensor:
    """Return the values of a tensor quantized with one scale and zero point, in float32 or ``out_dtype``."""
    _check_dtype(input, dtype)
    if dtype not in BOUNDS:
        raise ValueError(f"Unsupported dtype in dequantize_per_tensor: {dtype}")
    return (input.to(out_dtype or _float32) - zero_point) * scale


@_operator(f"dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, {_RANGE}, *, {_OUT}) -> Tensor")
def _dequantize_by_tensors(input: Tensor, scale: Tensor, zero_point: Tensor, *rest: Any, out_dtype: Any = None) -> Tensor:
    return dequantize_per_tensor(input, *_scalars(scale, zero_point), *rest, out_dtype=out_dtype)


@_operator("dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, "
           f"ScalarType dtype, *, {_OUT}) -> Tensor")
def _dequantize_by_tensors_with_range(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: Tensor, quant_max: Tensor,
                                      dtype: Dtype, *, out_dtype: Any = None) -> Tensor:
    return dequantize_per_tensor(input, *_scalars(scale, zero_point), quant_min.item(), quant_max.item(), dtype,
                                 out_dtype=out_dtype)


# ---------------------------------------------------------------- choosing parameters

def _extremes(input: Tensor, quant_min: int, quant_max: int, dtype: Dtype) -> tuple[Tensor, Tensor]:
    """Return the least and the greatest element. Raise AssertionError for dtypes or a range that quantization does not take."""
    _check(input.dtype in (_float32, *_HALVES),
           f"Expecting input to have dtype torch.float32/16/b16, but got dtype: {input.dtype}")
    _check(dtype in BOUNDS, f"Expecting target dtype to be one of {BOUNDS.keys()}, but got: {dtype}")
    _check(quant_min <= 0 <= quant_max, "Used-specified quantization range must include 0.")
    _check(quant_min < quant_max, "qmin must be less than qmax.")
    return torch.aminmax(input)


def _parameters(scale: Tensor, zero_point: Any) -> tuple[Tensor, Tensor]:
    return scale.reshape(1).to(_float64), zero_point.reshape(1).to(_int64)


_SIZES = "(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)"


@_operator(f"choose_qparams.tensor{_SIZES}")
def choose_qparams(input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: Dtype) -> tuple[Tensor, Tensor]:
    """Return the scale (float64) and zero point (int64), each of size [1], that map the tensor's range to the integers'."""
    low, high = _extremes(input, quant_min, quant_max, dtype)
    low, high = low.clamp(max=0), high.clamp(min=0)
    scale = torch.maximum((high - low) / float(quant_max - quant_min), tensor([eps]))
    zero_point = quant_min - torch.round(low / scale).to(_int32)
    return _parameters(scale, torch.clamp(zero_point, quant_min, quant_max))


@_operator(f"choose_qparams_symmetric.tensor{_SIZES}")
def choose_qparams_symmetric(input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: Dtype) -> tuple[Tensor, Tensor]:
    """Return the scale and zero point that map a range symmetric around 0 to the integers'."""
    low, high = _extremes(input, quant_min, quant_max, dtype)
    greatest = torch.maximum(-low.clamp(max=0), high.clamp(min=0))
    scale = torch.maximum(greatest / (float(quant_max - quant_min) / 2), tensor([eps]))
    return _parameters(scale, tensor(128 if dtype.name == "uint8" else 0))


@_operator("choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_per_token(input: Tensor, dtype: Dtype) -> tuple[Tensor, Tensor]:
    """Return scales and zero points (zeros) for each row, for int8."""
    scales = input.abs().amax(dim=-1, keepdim=True)
    scales = scales.float() if scales.dtype.name == "float16" else scales
    if dtype.name != "int8":
        raise Exception(f"unsupported dtype in choose_qparams_per_token: {dtype}")
    scales = scales.clamp(min=1e-5).div(127)
    return scales, torch.zeros_like(scales)


@_operator("_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
@_operator("choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_per_token_asymmetric(input: Tensor, dtype: Dtype) -> tuple[Tensor, Tensor]:
    """Return scales (float64) and zero points (int64) for each row, for int8. The zero point has the smaller rounding error."""
    least, greatest = -128, 127
    low = input.amin(dim=-1, keepdim=True).clamp(max=0)
    high = input.amax(dim=-1, keepdim=True).clamp(min=0)
    scale = ((high - low) / float(greatest - least)).clamp(min=finfo(_float32).eps)
    from_low, from_high = low / scale, high / scale
    errors = (least + from_low) + (greatest + from_high)
    zero_point = torch.where(errors > 0, least - from_low, greatest - from_high)
    return scale.to(_float64), torch.clamp(zero_point, least, greatest).round().to(_int64)


# ---------------------------------------------------------------- per channel

def _for_channels(input: Tensor, parameters: Tensor, axis: int) -> Tensor:
    """Return one parameter for each index of ``axis`` in a shape that broadcasts."""
    shape = [1] * input.dim()
    shape[axis] = parameters.shape[0]
    return parameters.view(shape)


@_operator(f"quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, {_RANGE}) -> Tensor")
def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, quant_min: int, quant_max: int,
                         dtype: Dtype) -> Tensor:
    """Quantize with a scale and zero point for each index of dim ``axis``."""
    input = _as_float32(input)
    _check(axis < input.dim(), f"Expecting axis to be < {input.dim()}")
    _check_range(quant_min, quant_max, dtype)
    scales, zero_points = (_for_channels(input, p, axis) for p in (scales, zero_points))
    return torch.clamp(torch.round(input * (1.0 / scales)) + zero_points, quant_min, quant_max).to(dtype)


@_operator(f"dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, {_RANGE}, *, {_OUT}) -> Tensor")
def dequantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor | None, axis: int, quant_min: int, quant_max: int,
                           dtype: Dtype, *, out_dtype: Dtype | None = None) -> Tensor:
    """Return the values of a tensor quantized for each index of dim ``axis``, in float32 or ``out_dtype``."""
    _check_dtype(input, dtype, "dtype: ")
    _check(axis < input.dim(), f"Expecting axis to be < {input.dim()}")
    _check_range(quant_min, quant_max, dtype)
    shifted = input if zero_points is None else input - _for_channels(input, zero_points, axis)
    return (shifted * _for_channels(input, scales, axis)).to(out_dtype or _float32)


# ---------------------------------------------------------------- per token

@_operator(f"quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, {_RANGE}) -> Tensor")
def quantize_per_token(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int,
                       dtype: Dtype) -> Tensor:
    """Quantize with a scale and zero point for each row."""
    _check_range(quant_min, quant_max, dtype)
    tokens = math.prod(input.shape[:-1])
    _check(tokens == scales.numel(), f"num_tokens: {tokens} scales: {scales.size()}")
    _check(tokens == zero_points.numel(), f"num_tokens: {tokens} zero_points: {zero_points.size()}")
    return input.mul(1.0 / scales).add(zero_points).round().clamp(quant_min, quant_max).to(dtype)


@_operator(f"dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, {_RANGE}, ScalarType output_dtype) -> Tensor")
def dequantize_per_token(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: Dtype,
                         output_dtype: Dtype = _float32) -> Tensor:
    """Return the values of a tensor quantized for each row."""
    return ((input - zero_points) * scales).to(output_dtype)


# ---------------------------------------------------------------- per group of a row's elements

def _group_size(input: Tensor, scales: Tensor, group_size: int, name: str) -> int:
    _check(group_size > 1, "group_size must be > 1")
    columns = input.shape[-1]
    if group_size > columns and scales.shape[-1] == 1:
        group_size = columns
    _check(columns % group_size == 0, f"{name}.shape[-1] must be divisible by group_size")
    _check(input.dim() == 2, f"{name} must be 2-dimensional")
    return group_size


@_operator(f"quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, {_RANGE}, int group_size) -> Tensor")
def quantize_per_channel_group(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: Dtype,
                               group_size: int = 128) -> Tensor:
    """Quantize a matrix with a scale and zero point for each ``group_size`` elements of a row."""
    groups = input.reshape(-1, _group_size(input, scales, group_size, "input"))
    _check(not bool(torch.isnan(groups).any()), "to_quant must not contain NaNs")
    made = groups.mul(1.0 / scales.reshape(-1, 1)).add(zero_points.reshape(-1, 1)).round().clamp(quant_min, quant_max)
    return made.to(dtype).reshape_as(input)


@_operator(f"dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, {_RANGE}, int group_size, "
           "ScalarType output_dtype) -> Tensor")
def dequantize_per_channel_group(input: Tensor, scales: Tensor, zero_points: Tensor | None, quant_min: int, quant_max: int,
                                 dtype: Dtype, group_size: int = 128, output_dtype: Dtype = _float32) -> Tensor:
    """Return the values of a matrix quantized for each ``group_size`` elements of a row."""
    groups = input.reshape(-1, _group_size(input, scales, group_size, "w_int8"))
    zeros = zero_points.reshape(-1, 1) if zero_points is not None else torch.zeros((), dtype=_int32, device=scales.device)
    return groups.sub(zeros).mul(scales.reshape(-1, 1)).reshape_as(input).to(output_dtype)


# ---------------------------------------------------------------- training with quantization, and a cast

class FakeQuantPerChannel(Function):
    """Rounds as quantization does. The gradient is that of the identity, and 0 outside of the range."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, quant_min: int,        # type: ignore[override]
                quant_max: int) -> Tensor:
        """See Function.forward."""
        scales, zero_points = scales.to(_float32), zero_points.to(_int32)
        _check(input.dtype is _float32, f"Expecting input to have dtype torch.float32, but got dtype: {input.dtype}")
        _check(axis < input.dim(), f"Expecting axis to be < {input.dim()}")
        scales, zero_points = (_for_channels(input, p, axis) for p in (scales, zero_points))
        rounded = torch.round(input * (1.0 / scales)) + zero_points
        ctx.save_for_backward(torch.logical_and(rounded >= quant_min, rounded <= quant_max))
        return (torch.clamp(rounded, quant_min, quant_max) - zero_points) * scales

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:        # type: ignore[override]
        """See Function.backward."""
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None, None, None


@_operator("fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, "
           "int quant_max) -> Tensor")
def fake_quant_per_channel(*args: Any) -> Tensor:
    """Round a tensor as quantization with a scale and zero point for each index of a dim does."""
    return FakeQuantPerChannel.apply(*args)


@_operator("convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor")
def convert_element_type(input: Tensor, dtype: Dtype) -> Tensor:
    """Return the tensor in another dtype."""
    return input.to(dtype)
