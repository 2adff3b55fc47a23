"""Functions of torch that quantize tensors, and that ask for scales and zero points."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch._api import declared
from jtorch._base import warned
from jtorch._quantized.tensor import INTEGERS, QuantizedTensor, per_channel, per_tensor, quantized, range_of
from jtorch.dtype import dtype as Dtype
from jtorch.dtype import float32, float64, int64
from jtorch.ops.quantize import LEAST_SCALE
from jtorch.tensor import Tensor


def _declared(*overloads: str) -> Callable:
    """Return a decorator that checks arguments by PyTorch's overloads, see jtorch/_api/declared.py."""
    def decorate(function: Callable) -> Callable:
        name = function.__name__
        return declared.checking(function, name, [declared.parse(name, text) for text in overloads])
    return decorate


def _warn() -> None:
    warned.warn_once(
        "torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor creation functions that produce "
        "tensors with dtype torch.quint8, torch.qint8, and torch.qint32 are deprecated and will be removed in a future PyTorch "
        "release. Please see https://github.com/pytorch/pytorch/issues/184982 for more information.")


def _check(x: Tensor, dtype: Any, message: str) -> None:
    if isinstance(x, QuantizedTensor):
        raise NotImplementedError("Could not run 'aten::quantize_per_tensor' with arguments from the 'QuantizedCPU' backend. The "
                                  "tensor is quantized already.")
    if x.dtype is not float32:
        raise RuntimeError(message.format(x.dtype.scalar_name))
    if dtype not in INTEGERS:
        if isinstance(dtype, Dtype) and dtype.name.startswith("quint"):
            raise NotImplementedError(f"Quantized tensors of {dtype} are not built; use torch.quint8")
        raise RuntimeError(f"ScalarType {dtype.scalar_name} is not supported in new_qtensor.")


def _check_zero_points(zero_points: Any, dtype: Any, function: str) -> None:
    low, high = range_of(dtype)
    for zero_point in zero_points:
        if not low <= zero_point <= high:
            side = "above upper" if zero_point > high else "below lower"
            raise RuntimeError(f"{function} zero_point {zero_point} is {side} bound.")


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x     # type: ignore[attr-defined]


@_declared("input Tensor, scale float, zero_point int, dtype dtype", "input Tensor, scale Tensor, zero_point Tensor, dtype dtype",
           "tensors Tensors, scales Tensor, zero_points Tensor, dtype dtype")
def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: Dtype) -> Any:
    """Round a tensor to multiples of one scale, held as integers. See torch.quantize_per_tensor.

    Args:
        input (Tensor): float32, of any shape; or a sequence of such tensors.
        scale (float or Tensor): the distance of two levels; for a sequence a tensor of one scale for each.
        zero_point (int or Tensor): the integer that stands for 0; for a sequence a tensor of one for each.
        dtype (dtype): ``torch.quint8``, ``torch.qint8`` or ``torch.qint32``.

    Returns:
        A quantized tensor, or a tuple of them. ``dequantize()`` gives ``(integers - zero_point) * scale``.

    Raises:
        RuntimeError: the input is not float32, or the dtype cannot hold the zero point.

    Example::

        >>> q = torch.quantize_per_tensor(torch.tensor([-1.0, 0.0, 2.0]), 0.5, 10, torch.quint8)
        >>> q.int_repr()
        tensor([ 8, 10, 14], dtype=torch.uint8)
        >>> q.dequantize()
        tensor([-1.,  0.,  2.])

    """
    if isinstance(input, (list, tuple)):
        return tuple([quantize_per_tensor(x, scale[k], zero_point[k], dtype) for k, x in enumerate(input)])
    scale, zero_point = _number(scale), _number(zero_point)
    _check(input, dtype, "Quantize only works on Float Tensor, got {}")
    _check_zero_points([zero_point], dtype, "quantize_tensor_per_tensor_affine")
    _warn()
    return per_tensor(input, scale, zero_point, dtype)


@_declared("input Tensor, dtype dtype, reduce_range bool")
def quantize_per_tensor_dynamic(input: Tensor, dtype: Dtype, reduce_range: bool) -> QuantizedTensor:
    """Round a tensor to integers whose range is that of its elements and 0. See torch.quantize_per_tensor_dynamic.

    Args:
        input (Tensor): float32, of any shape.
        dtype (dtype): ``torch.quint8`` or ``torch.qint8``.
        reduce_range (bool): whether to use half of the integers.

    Raises:
        RuntimeError: the input is not float32, or the dtype is another one.

    Example::

        >>> torch.quantize_per_tensor_dynamic(torch.tensor([0.0, 255.0]), torch.quint8, False).int_repr()
        tensor([  0, 255], dtype=torch.uint8)

    """
    if dtype in INTEGERS and INTEGERS[dtype].itemsize > 1:
        raise RuntimeError("dtype QInt32not supported")
    _check(input, dtype, "Quantize only works on Float Tensor, got {}")
    low, high = range_of(dtype)
    if reduce_range:
        low, high = low // 2, high // 2
    scale, zero_point = _range_to_parameters(*_extremes(input), low, high)
    _warn()
    return per_tensor(input, scale, zero_point, dtype)


def _extremes(x: Tensor) -> tuple[float, float]:
    """Return the least and the greatest element, with 0 between them."""
    if not x.numel():
        return 0.0, 0.0
    return min(x.min().item(), 0.0), max(x.max().item(), 0.0)       # type: ignore[attr-defined]


def _range_to_parameters(least: float, greatest: float, low: int, high: int) -> tuple[float, int]:
    """Return scale and zero point for numbers between two bounds. See ChooseQuantizationParams in PyTorch's quant_utils.h."""
    scale = (greatest - least) / (high - low)
    with np.errstate(divide="ignore", over="ignore"):
        if np.isinf(np.float32(1) / np.float32(scale)):
            scale = 0.1
    if scale < LEAST_SCALE:
        least, greatest, scale = least * (LEAST_SCALE / scale), greatest * (LEAST_SCALE / scale), LEAST_SCALE
    from_least, from_greatest = low - least / scale, high - greatest / scale
    error_of_least, error_of_greatest = abs(low) - abs(least / scale), abs(high) - abs(greatest / scale)
    exact = from_least if error_of_least < error_of_greatest else from_greatest
    return scale, round(min(max(exact, low), high))


@_declared("input Tensor, scales Tensor, zero_points Tensor, axis int, dtype dtype")
def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: Dtype) -> QuantizedTensor:
    """Round a tensor to multiples of a scale for each index of a dim. See torch.quantize_per_channel.

    Args:
        input (Tensor): float32, of any shape.
        scales (Tensor): floats of shape (size of the dim).
        zero_points (Tensor): integers of shape (size of the dim), which stand for 0.
        axis (int): the dim.
        dtype (dtype): ``torch.quint8``, ``torch.qint8`` or ``torch.qint32``.

    Raises:
        RuntimeError: the input is not float32, or scales and zero points do not fit.

    Example::

        >>> q = torch.quantize_per_channel(torch.ones(2, 2), torch.tensor([0.5, 0.25]), torch.tensor([0, 1]), 0, torch.qint8)
        >>> q.int_repr()
        tensor([[2, 2],
                [5, 5]], dtype=torch.int8)

    """
    _check(input, dtype, "quantize_tensor_per_channel_affine expects a Float Tensor, got {}")
    for name, t in (("scale", scales), ("zero_points", zero_points)):
        if t.dim() != 1:
            raise RuntimeError(f"{name} tensor must have dimension 1")
    if zero_points.dtype.is_floating_point:
        raise NotImplementedError("Zero points that are floats are not built")
    if len(scales) != len(zero_points):
        raise RuntimeError("number of elements in scales and zero_points must match")
    if not 0 <= axis < input.dim():
        raise RuntimeError(f"Channel axis out of range in per channel affine quantization. Got: {axis}Expected: [0, "
                           f"{input.dim()})")
    if len(scales) != input.shape[axis]:
        raise RuntimeError(f"length of scales must equal to channel, expected {input.shape[axis]} got, {len(scales)}")
    _check_zero_points(zero_points.tolist(), dtype, "quantize_tensor_per_channel_affine")        # type: ignore[attr-defined]
    _warn()
    return per_channel(input, scales, zero_points, axis, dtype)


@_declared("input Tensor, scale float, zero_point int")
def _make_per_tensor_quantized_tensor(input: Tensor, scale: float, zero_point: int) -> QuantizedTensor:
    _warn()
    return quantized(input.clone(), float(scale), zero_point)       # type: ignore[attr-defined]


@_declared("input Tensor, scale Tensor, zero_point Tensor, axis int")
def _make_per_channel_quantized_tensor(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> QuantizedTensor:
    _warn()
    return quantized(input.clone(), scale.to(float64), zero_point.to(int64), axis)      # type: ignore[attr-defined]


def _asking(name: str) -> Callable:
    def function(input: Tensor) -> Any:
        return getattr(input, name)()
    function.__name__ = name
    function.__doc__ = f"Return what ``input.{name}()`` returns. See torch.Tensor.{name}."
    return _declared("input Tensor")(function)


int_repr, q_scale, q_zero_point = _asking("int_repr"), _asking("q_scale"), _asking("q_zero_point")
q_per_channel_scales, q_per_channel_zero_points = _asking("q_per_channel_scales"), _asking("q_per_channel_zero_points")
q_per_channel_axis = _asking("q_per_channel_axis")
