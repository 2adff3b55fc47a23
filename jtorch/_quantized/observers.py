"""torch.ao.quantization.observer: modules that see tensors and choose their scales and zero points."""
from __future__ import annotations

import functools
from typing import Any

from jtorch._api import functions
from jtorch._api.creation import tensor as make_tensor
from jtorch._base import warned
from jtorch._base.absent_dtypes import absent
from jtorch._base.dtype_info import finfo
from jtorch._base.qscheme import (
    per_channel_affine,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qscheme,
)
from jtorch._quantized.tensor import INTEGERS, range_of
from jtorch.dtype import dtype as Dtype
from jtorch.dtype import float16, float32, int64, named
from jtorch.nn.modules.module import Module
from jtorch.tensor import Tensor

_QINT8, _QUINT8 = absent("qint8"), absent("quint8")
_DTYPES = {*INTEGERS, *map(named, ("int8", "uint8", "int32", "int16", "uint16"))}
_EPS = finfo(float32).eps


def _with_args(cls_or_self: Any, **kwargs: Any) -> _PartialWrapper:
    """Return a factory that creates a class's objects with some of the arguments fixed."""
    return _PartialWrapper(functools.partial(cls_or_self, **kwargs))


class _PartialWrapper:
    """Creates a class's objects with some of the arguments fixed. ``with_args`` returns it."""

    def __init__(self, p: Any):
        self.p = p

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.p(*args, **keywords)

    def __repr__(self) -> str:
        return f"{self.p!r}{{}}"

    with_args = _with_args


class ObserverBase(Module):
    """The base class of observers. See torch.ao.quantization.observer.ObserverBase.

    Shape: any.

    Args:
        dtype (dtype): the dtype to quantize to.
        is_dynamic (bool): whether the scale is chosen for each input.

    Example::

        >>> from jtorch.ao.quantization import MinMaxObserver, ObserverBase
        >>> issubclass(MinMaxObserver, ObserverBase)
        True

    """

    def __init__(self, dtype: Dtype, is_dynamic: bool = False):
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    with_args = classmethod(_with_args)


class PlaceholderObserver(ObserverBase):
    """An observer that stores how to quantize and ignores tensors. See torch.ao.quantization.observer.PlaceholderObserver.

    Shape: any.

    Args:
        dtype (dtype): the dtype of what is observed.
        custom_op_name (str): kept as ``custom_op``.
        compute_dtype (dtype or None): deprecated, for ``is_dynamic``.
        quant_min (int or None): the least integer.
        quant_max (int or None): the greatest integer.
        qscheme (qscheme or None): the scheme, by default ``torch.per_tensor_affine``.
        eps (float or None): the least scale.
        is_dynamic (bool): whether the scale is chosen for each input.

    Example::

        >>> from jtorch.ao.quantization import PlaceholderObserver
        >>> PlaceholderObserver(dtype=torch.float16)
        PlaceholderObserver(dtype=torch.float16, is_dynamic=False)

    """

    def __init__(self, dtype: Dtype = float32, custom_op_name: str = "", compute_dtype: Any = None, quant_min: int | None = None,
                 quant_max: int | None = None, qscheme: qscheme | None = None, eps: float | None = None,
                 is_dynamic: bool = False):
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.custom_op = quant_min, quant_max, custom_op_name
        self.eps = _EPS if eps is None else eps
        if compute_dtype:
            warned.warn("Please use `is_dynamic` instead of `compute_dtype`.                     `compute_dtype` will be "
                        "deprecated in a future release                     of PyTorch.")

    def forward(self, x: Any) -> Any:
        """Return the input."""
        return x

    def extra_repr(self) -> str:
        """Return the dtype, and whether scales are chosen for each input."""
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self) -> Any:
        """Raise an error: nothing was observed."""
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")


class UniformQuantizationObserverBase(ObserverBase):
    """The base class of observers that map a range of floats to integers.

    See torch.ao.quantization.observer.UniformQuantizationObserverBase.

    Shape: any.

    Args:
        dtype (dtype): the dtype of the integers.
        qscheme (qscheme): with a scale for the tensor or for each channel, symmetric or not.
        reduce_range (bool): use half of the integers.
        quant_min (int or None): the least integer.
        quant_max (int or None): the greatest integer.
        factory_kwargs (dict or None): the device and dtype of the buffers.
        eps (float): the least scale.
        is_dynamic (bool): whether the scale is chosen for each input.

    Example::

        >>> from jtorch.ao.quantization import MinMaxObserver, UniformQuantizationObserverBase
        >>> issubclass(MinMaxObserver, UniformQuantizationObserverBase)
        True

    """

    _version = 3
    eps: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(self, dtype: Dtype = _QUINT8, qscheme: qscheme = per_tensor_affine, reduce_range: bool = False,
                 quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: dict[str, Any] | None = None,
                 eps: float = _EPS, is_dynamic: bool = False):
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        if dtype not in _DTYPES:
            raise NotImplementedError(f"Observers of {dtype} are not built; those of qint8, quint8 and qint32 are.")
        if reduce_range:
            warned.warn("Please use quant_min and quant_max to specify the range for observers.                     reduce_range "
                        "will be deprecated in a future release of PyTorch.")
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.register_buffer("eps", make_tensor([eps], **(factory_kwargs or {})))
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        self.quant_min, self.quant_max = self._range(quant_min, quant_max)

    def _range(self, low: int | None, high: int | None) -> tuple[int, int]:
        if low is None or high is None:
            low, high = range_of(self.dtype)
            if self.reduce_range and self.dtype.itemsize == 1:
                low, high = low // 2, high // 2
            return low, high
        if not low <= 0 <= high:
            raise AssertionError("Used-specified quantization range must include 0.")
        if low >= high:
            raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")
        if self.dtype in (_QINT8, named("int8")) and high - low > 255:
            raise AssertionError("quantization range should be positive and not exceed the maximum bit range (=256).")
        return (low // 2, high // 2) if self.reduce_range else (low, high)

    @property
    def _is_symmetric(self) -> bool:
        return self.qscheme in (per_tensor_symmetric, per_channel_symmetric)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Return the scales, in float32, and the zero points, each of shape (1) or (channels)."""
        if not _is_valid(self.min_val, self.max_val):
            return make_tensor([1.0]), make_tensor([0])
        low, high = self.min_val.clamp(max=0), self.max_val.clamp(min=0)        # type: ignore[attr-defined]
        steps = float(self.quant_max - self.quant_min)
        if self._is_symmetric:
            scale = functions.maximum(functions.maximum(-low, high) / (steps / 2), self.eps)
            return scale.reshape(-1), functions.full_like(scale, self._middle(), dtype=int64).reshape(-1)
        scale = functions.maximum((high - low) / steps, self.eps)
        zero_point = self.quant_min - functions.round(low / scale).to(named("int32"))
        return scale.reshape(-1), zero_point.clamp(self.quant_min, self.quant_max).reshape(-1)

    def _middle(self) -> int:
        """Return the integer that stands for 0 in a symmetric range."""
        if self.dtype in (_QUINT8, named("uint8")):
            return (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128
        return 2 ** 15 if self.dtype is named("uint16") else 0

    def extra_repr(self) -> str:
        """Return the range that was observed."""
        return f"min_val={self.min_val}, max_val={self.max_val}"


def _is_valid(low: Tensor, high: Tensor) -> bool:
    if not low.numel() or (low.dim() == 0 and low.item() == float("inf") and high.item() == float("-inf")):
        warned.warn("must run observer before calling calculate_qparams. Returning default values.")
        return False
    if bool((low > high).any()):
        raise AssertionError(f"min {low} should be less than max {high}")
    return True


class MinMaxObserver(UniformQuantizationObserverBase):
    """Map the range of all elements seen to integers. See torch.ao.quantization.observer.MinMaxObserver.

    A symmetric scale is ``max(-min, max) / ((quant_max - quant_min) / 2)``, another one ``(max - min) / (quant_max -
    quant_min)``.

    Shape: any; the scale and the zero point have shape (1).

    Args:
        dtype (dtype): the dtype of the integers.
        qscheme (qscheme): ``torch.per_tensor_affine`` or ``torch.per_tensor_symmetric``.
        reduce_range (bool): use half of the integers.
        quant_min (int or None): the least integer.
        quant_max (int or None): the greatest integer.
        factory_kwargs (dict or None): the device and dtype of the buffers.
        eps (float): the least scale.
        is_dynamic (bool): whether the scale is chosen for each input.

    Example::

        >>> from jtorch.ao.quantization import MinMaxObserver
        >>> observer = MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
        >>> _ = observer(torch.tensor([-1.0, 0.5]))
        >>> observer.calculate_qparams()
        (tensor([0.0078]), tensor([0]))

    """

    def __init__(self, dtype: Dtype = _QUINT8, qscheme: qscheme = per_tensor_affine, reduce_range: bool = False,
                 quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: dict[str, Any] | None = None,
                 eps: float = _EPS, is_dynamic: bool = False):
        if qscheme not in (per_tensor_affine, per_tensor_symmetric):
            raise NotImplementedError("MinMaxObserver's qscheme only support torch.per_tensor_symmetric                     and "
                                      "torch.per_tensor_affine.")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic)
        self.register_buffer("min_val", make_tensor(float("inf"), **(factory_kwargs or {})))
        self.register_buffer("max_val", make_tensor(float("-inf"), **(factory_kwargs or {})))

    def forward(self, x_orig: Any) -> Any:
        """Widen the range by the input's, and return the input."""
        if x_orig.numel():
            low, high = functions.aminmax(x_orig.detach().to(self.min_val.dtype))
            self.min_val.copy_(functions.minimum(low, self.min_val))        # type: ignore[attr-defined]
            self.max_val.copy_(functions.maximum(high, self.max_val))       # type: ignore[attr-defined]
        return x_orig

    def reset_min_max_vals(self) -> None:
        """Forget what was observed."""
        self.min_val.fill_(float("inf"))        # type: ignore[attr-defined]
        self.max_val.fill_(float("-inf"))       # type: ignore[attr-defined]


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Map the range of each channel to integers. See torch.ao.quantization.observer.PerChannelMinMaxObserver.

    Shape: any; scales and zero points have shape (channels).

    Args:
        ch_axis (int): the dim of the channels.
        dtype (dtype): the dtype of the integers.
        qscheme (qscheme): ``torch.per_channel_affine`` or ``torch.per_channel_symmetric``.
        reduce_range (bool): use half of the integers.
        quant_min (int or None): the least integer.
        quant_max (int or None): the greatest integer.
        factory_kwargs (dict or None): the device and dtype of the buffers.
        eps (float): the least scale.
        is_dynamic (bool): must be False.

    Example::

        >>> from jtorch.ao.quantization import PerChannelMinMaxObserver
        >>> observer = PerChannelMinMaxObserver(dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
        >>> _ = observer(torch.tensor([[-1.0, 0.5], [0.0, 2.0]]))
        >>> observer.calculate_qparams()
        (tensor([0.0078, 0.0157]), tensor([0, 0]))

    """

    def __init__(self, ch_axis: int = 0, dtype: Dtype = _QUINT8, qscheme: qscheme = per_channel_affine,
                 reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None,
                 factory_kwargs: dict[str, Any] | None = None, eps: float = _EPS, is_dynamic: bool = False):
        if qscheme not in (per_channel_affine, per_channel_symmetric):
            raise NotImplementedError("PerChannelMinMaxObserver's qscheme only support                     "
                                      "torch.per_channel_symmetric, torch.per_channel_affine and "
                                      "torch.per_channel_affine_float_qparams.")
        if is_dynamic:
            raise NotImplementedError("PerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic)
        self.ch_axis = ch_axis
        self.reset_min_max_vals()

    def forward(self, x_orig: Any) -> Any:
        """Widen the channels' ranges by the input's, and return the input."""
        if x_orig.numel():
            rows = x_orig.detach().to(self.eps.dtype).transpose(0, self.ch_axis).flatten(1)
            low, high = functions.aminmax(rows, dim=1)
            if self.min_val.numel():
                low, high = functions.minimum(low, self.min_val), functions.maximum(high, self.max_val)
            self.min_val, self.max_val = low, high
        return x_orig

    def reset_min_max_vals(self) -> None:
        """Forget what was observed."""
        self.register_buffer("min_val", make_tensor([]))
        self.register_buffer("max_val", make_tensor([]))


default_weight_observer = MinMaxObserver.with_args(dtype=_QINT8, qscheme=per_tensor_symmetric)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(dtype=_QINT8, qscheme=per_channel_symmetric)
default_dynamic_quant_observer = PlaceholderObserver.with_args(dtype=_QUINT8, quant_min=0, quant_max=255, is_dynamic=True)
default_placeholder_observer = PlaceholderObserver
_float16_observer = PlaceholderObserver.with_args(dtype=float16)
_dynamic_float16_observer = PlaceholderObserver.with_args(dtype=float16, is_dynamic=True)
