"""Quantized tensors: integers that stand for floats. They hold the weights of quantized modules."""
from __future__ import annotations

import copy
from typing import Any

from jtorch import _tensor_str as printing
from jtorch._api import functions
from jtorch._api import torch_function as protocol
from jtorch._api.creation import tensor as make_tensor
from jtorch._base.absent_dtypes import absent
from jtorch._base.dtype_info import iinfo
from jtorch._base.qscheme import per_channel_affine, per_tensor_affine, qscheme
from jtorch.dtype import float32, float64, int64, named
from jtorch.tensor import Tensor, alias

# Maps a quantized dtype to the dtype of its integers.
INTEGERS = {absent("qint8"): named("int8"), absent("quint8"): named("uint8"), absent("qint32"): named("int32")}
DTYPES = {integers: dtype for dtype, integers in INTEGERS.items()}
_INT32 = named("int32")

# Functions that read no elements, so they need no rule.
_WITHOUT_RULE = frozenset("__get__ __set__ __delete__ size dim ndimension numel nelement element_size stride storage_offset "
                          "is_contiguous data_ptr get_device is_floating_point is_complex is_signed is_inference is_tensor "
                          "__len__ __hash__ untyped_storage".split())


class QuantizedTensor(Tensor):
    """A tensor of integers ``q`` that stand for ``(q - zero_point) * scale``, with one scale or one for each channel."""

    _is_of_layout = True
    _asked_by_all = False
    _dtype: Any
    _scale: Any             # a float, or float64 scales of shape (channels)
    _zero_point: Any        # an int, or int64 zero points of shape (channels)
    _axis: int | None       # the dim of the channels

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        """Run a function by its rule, or unchanged if it reads no elements; NotImplementedError for other functions."""
        name = getattr(func, "__name__", "").rsplit(".", 1)[-1]
        from jtorch._quantized.rules import RULES, as_first
        if name in _WITHOUT_RULE:
            with protocol.switched_off(layouts=True):
                found = func(*args, **(kwargs or {}))
            return cls._checked(args[0], as_first(args[0], found))
        if name in RULES:
            return RULES[name](func, args, kwargs or {})
        raise NotImplementedError(f"torch.{name}: functions of quantized tensors are not built; x.dequantize() is a tensor of "
                                  "floats")

    @staticmethod
    def _checked(t: QuantizedTensor, found: Any) -> Any:
        if isinstance(found, QuantizedTensor) and t._axis is not None and found.stride() != t.stride():     # such as t.T
            raise RuntimeError("Setting strides is possible only on uniformly quantized tensor")
        return found

    dtype = property(lambda self: self._dtype)      # type: ignore[assignment]
    is_quantized = property(lambda self: True)      # type: ignore[assignment]

    def int_repr(self) -> Tensor:
        """Return a copy of the integers. See torch.Tensor.int_repr."""
        return integers_of(self).contiguous().clone()       # type: ignore[attr-defined]

    def dequantize(self) -> Tensor:
        """Return the numbers in float32. See torch.Tensor.dequantize."""
        shifted = integers_of(self).to(_INT32) - _along(self, self._zero_point)     # type: ignore[attr-defined]
        return shifted.to(float32) * _along(self, self._scale, float32)     # type: ignore[no-any-return]

    def qscheme(self) -> qscheme:
        """Return the scheme: a scale for the tensor, or one for each channel. See torch.Tensor.qscheme."""
        return per_tensor_affine if self._axis is None else per_channel_affine

    def q_scale(self) -> float:
        """Return the scale. See torch.Tensor.q_scale."""
        self._require(self._axis is None)
        return self._scale      # type: ignore[no-any-return]

    def q_zero_point(self) -> int:
        """Return the integer that stands for 0. See torch.Tensor.q_zero_point."""
        self._require(self._axis is None)
        return self._zero_point     # type: ignore[no-any-return]

    def q_per_channel_scales(self) -> Tensor:
        """Return the channels' scales, in float64. See torch.Tensor.q_per_channel_scales."""
        self._require(self._axis is not None)
        return self._scale      # type: ignore[no-any-return]

    def q_per_channel_zero_points(self) -> Tensor:
        """Return the channels' zero points. See torch.Tensor.q_per_channel_zero_points."""
        self._require(self._axis is not None)
        return self._zero_point     # type: ignore[no-any-return]

    def q_per_channel_axis(self) -> int:
        """Return the dim of the channels. See torch.Tensor.q_per_channel_axis."""
        self._require(self._axis is not None)
        return self._axis       # type: ignore[return-value]

    def _require(self, holds: bool) -> None:
        if not holds:
            wanted = "kPerTensorAffine" if self._axis is not None else \
                "kPerChannelAffine || quantizer->qscheme() == kPerChannelAffineFloatQParams"
            raise RuntimeError(f"Expected quantizer->qscheme() == {wanted} to be true, but got false.")

    def _parameters(self) -> tuple:
        """Return the parameters as PyTorch's checkpoints have them."""
        return (self.qscheme(), self._scale, self._zero_point, *(() if self._axis is None else (self._axis,)))

    def __deepcopy__(self, memo: dict) -> QuantizedTensor:
        made = memo[id(self)] = like(self, copy.deepcopy(integers_of(self), memo))
        return made     # type: ignore[no-any-return]

    def _attributes(self) -> dict:
        return {k: v for k, v in super()._attributes().items() if k not in ("_dtype", "_scale", "_zero_point", "_axis")}

    def __repr__(self, **options: Any) -> str:      # type: ignore[override]
        indent = len("tensor(")
        said = [f"size={tuple(self.shape)}", f"dtype={self.dtype}", f"quantization_scheme={self.qscheme()}",
                f"scale={self._scale}", f"zero_point={self._zero_point}", *([] if self._axis is None else [f"axis={self._axis}"])]
        return printing._with_suffixes("tensor(" + printing._contents(self.dequantize(), indent), said, indent)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __hash__(self) -> int:
        return id(self)


QuantizedTensor.__name__ = QuantizedTensor.__qualname__ = "Tensor"      # The expression type(x) shows this name.
QuantizedTensor.__module__ = "torch"


def quantized(integers: Tensor, scale: Any, zero_point: Any, axis: int | None = None) -> QuantizedTensor:
    """Return a quantized tensor that shares the memory of ``integers``."""
    t: Any = alias(integers)
    t.__class__ = QuantizedTensor
    t._dtype, t._scale, t._zero_point, t._axis = DTYPES[integers.dtype], scale, zero_point, axis
    return t        # type: ignore[no-any-return]


def rebuilt(integers: Tensor, parameters: Any) -> QuantizedTensor:
    """Return a quantized tensor from the parameters of a checkpoint."""
    scheme, *rest = parameters if type(parameters) is tuple and parameters else (None,)
    if (scheme, len(rest)) not in ((per_tensor_affine, 2), (per_channel_affine, 3)):
        raise NotImplementedError("The checkpoint holds a quantized tensor of another scheme than per_tensor_affine and "
                                  "per_channel_affine")
    kinds = (float, int) if scheme is per_tensor_affine else (Tensor, Tensor, int)
    fits = all(map(isinstance, rest, kinds)) and integers.dtype in DTYPES
    if not fits or (len(rest) == 3 and not 0 <= rest[2] < integers.dim()):
        raise RuntimeError("The parameters of a quantized tensor in the checkpoint are of the wrong types")
    return quantized(integers, *rest)


def integers_of(t: QuantizedTensor) -> Tensor:
    """Return the integers as a plain tensor that shares the memory."""
    return alias(t)


def like(t: QuantizedTensor, integers: Tensor) -> QuantizedTensor:
    """Return a quantized tensor that shows integers, with the scale and the zero point of ``t``."""
    return quantized(integers, t._scale, t._zero_point, t._axis)


def _along(t: QuantizedTensor, parameter: Any, dtype: Any = _INT32) -> Tensor:
    """Return a scale or zero point, or the channels' ones in a shape that broadcasts to the tensor."""
    if t._axis is None:
        return make_tensor(parameter, dtype=dtype)
    return parameter.to(dtype).reshape(_shape_along(t._axis, t.dim()))       # type: ignore[no-any-return]


def _shape_along(axis: int, dims: int) -> list[int]:
    """Return the shape in which one number for each index of a dim broadcasts."""
    return [-1 if d == axis else 1 for d in range(dims)]


def in_words(t: QuantizedTensor) -> str:
    """Return the name of the dtype in PyTorch's messages, such as QUInt8."""
    return str(t.dtype.name).replace("quint", "QUInt").replace("qint", "QInt")


def range_of(dtype: Any) -> tuple[int, int]:
    """Return the least and the greatest integer of a dtype, which may be a quantized one."""
    limits = iinfo(INTEGERS.get(dtype, dtype))
    return limits.min, limits.max


def per_tensor(x: Tensor, scale: float, zero_point: int, dtype: Any) -> QuantizedTensor:
    """Return ``x`` rounded to multiples of ``scale``.

    As in PyTorch's kernel, the zero point is added before the rounding to integers. For 8 bits product and sum are rounded once.
    """
    kind: Any = float64 if INTEGERS[dtype].itemsize == 1 else float32
    inverse = (1 / make_tensor(scale, dtype=float32)).to(kind)
    levels = functions.round((x.detach().to(kind) * inverse + zero_point).to(float32))
    return _limited(levels, dtype, (float(scale), int(zero_point)))


def per_channel(x: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: Any) -> QuantizedTensor:
    """Return ``x`` rounded to multiples of a scale for each index of a dim. Here the zero point is added after the rounding."""
    shape = _shape_along(axis, x.dim())
    scales, zero_points = scales.to(float64), zero_points.to(int64)     # type: ignore[attr-defined]
    levels = functions.round(x.detach() * (1 / scales.to(float32).reshape(shape))) + zero_points.reshape(shape)
    return _limited(levels, dtype, (scales, zero_points, axis))


def _limited(levels: Tensor, dtype: Any, parameters: tuple) -> QuantizedTensor:
    low, high = range_of(dtype)
    levels = functions.clamp(functions.nan_to_num(levels.to(float64), float(high)), low, high)      # type: ignore[attr-defined]
    return quantized(levels.to(INTEGERS[dtype]).contiguous(), *parameters)      # type: ignore[attr-defined]
