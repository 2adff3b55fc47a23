"""Convolution layers. See https://docs.pytorch.org/docs/stable/nn.html#convolution-layers."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jtorch._base import warned
from jtorch.nn import functional as F
from jtorch.nn import init
from jtorch.nn.modules._make import ntuple, parameter
from jtorch.nn.modules._spatial import Spatial
from jtorch.nn.modules.lazy import LazyModuleMixin
from jtorch.tensor import Tensor

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]

Sizes = int | tuple[int, ...]
_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Spatial):
    """The base class of convolutions: sizes as tuples, the filters ``weight``, and a ``bias`` per output channel."""

    __constants__ = ["stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels",
                     "out_channels", "kernel_size"]
    _transposed = False
    weight: Tensor
    bias: Tensor | None

    def _set_up(self, in_channels: int, out_channels: int, groups: int, padding: Any, padding_mode: str, bias: bool,
                factory: dict, **sizes: Any) -> None:
        """Check and store the arguments (``sizes`` as tuples), and initialize the parameters."""
        for name, value in sizes.items():
            setattr(self, name, ntuple(value, self._spatial))
        self.padding = padding if isinstance(padding, str) else ntuple(padding, self._spatial)
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.transposed = self._transposed
        self._check()
        self._reversed_padding_repeated_twice = self._around()
        self.weight = parameter(*self._weight_shape(), **factory)
        self.register_parameter("bias", parameter(out_channels, **factory) if bias else None)
        self.reset_parameters()

    def _check(self) -> None:
        if self.groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {{'same', 'valid'}}")
            if self.padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in _MODES:
            modes = ", ".join(map(repr, _MODES))
            raise ValueError(f"padding_mode must be one of {{{modes}}}, but got padding_mode='{self.padding_mode}'")

    def _around(self) -> list[int]:
        """Return the argument of ``F.pad``, for modes that pad before the convolution."""
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            pairs = [(t // 2, t - t // 2) for t in totals]
        else:
            pairs = [(0, 0)] * self._spatial if isinstance(self.padding, str) else [(p, p) for p in self.padding]
        return [p for pair in reversed(pairs) for p in pair]

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = ((self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels))
        return (first, second // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Reinitialize the parameters: uniform within 1 / sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = init._calculate_fan_in_and_fan_out(self.weight)[0]
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        """Return the channels, and the options that are not the default."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        plain = {"padding": 0, "dilation": 1, "output_padding": 0}
        for name, value in plain.items():
            given = getattr(self, name)
            text += f", {name}={given}" if given != (value,) * self._spatial else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        text += "" if self.bias is not None else ", bias=False"
        return text + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


class _Conv(_ConvNd):
    """Each output channel is the sum over input channels of the input's cross-correlation with a filter, plus a bias.

    ``padding`` is a number per dimension, ``"valid"`` (none) or ``"same"`` (as many outputs as inputs; stride 1 only).
    ``padding_mode`` is ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``. With ``groups`` each group of
    output channels uses only its group of input channels. Each size is an int or one int per dimension.

    Shape: (N, in_channels, {size}) or (in_channels, {size}) to out_channels and
    ``(size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1`` per dimension; ``weight`` is
    (out_channels, in_channels / groups, *kernel_size), ``bias`` (out_channels,).
    Raises ValueError for groups that do not divide the channels, unknown paddings and modes.

    Args:
        in_channels (int): the number of input channels.
        out_channels (int): the number of output channels.
        kernel_size (int or tuple of ints): the filters' size.
        stride (int or tuple of ints): the step from one window to the next.
        padding (int, tuple of ints, or str): elements added at both ends of each dimension, "same" or "valid".
        dilation (int or tuple of ints): the step from one element of a window to the next.
        groups (int): the number of groups into which the channels are divided.
        bias (bool): whether to add a learned bias.
        padding_mode (str): the kind of padding: "zeros", "reflect", "replicate" or "circular".
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> conv = nn.{name}(4, 6, 3, padding="same", groups=2)
        >>> conv(torch.randn(1, 4, {x8})).shape
        torch.Size([1, 6, {x8}])

    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: str | Sizes = 0,
                 dilation: Sizes = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None):
        super().__init__()
        self._set_up(in_channels, out_channels, groups, padding, padding_mode, bias, {"device": device, "dtype": dtype},
                     kernel_size=kernel_size, stride=stride, dilation=dilation, output_padding=0)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), 0
        conv = getattr(F, f"conv{self._spatial}d")
        return conv(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input):
        """Return the convolution."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv, spatial=1):
    """A convolution over one dimension. See torch.nn.Conv1d."""


class Conv2d(_Conv, spatial=2):
    """A convolution over two dimensions. See torch.nn.Conv2d."""


class Conv3d(_Conv, spatial=3):
    """A convolution over three dimensions. See torch.nn.Conv3d."""


class _ConvTransposeNd(_ConvNd):
    """The transpose of a convolution as a linear map: each input is spread over a window of the output.

    A convolution with a stride maps several input sizes to one output size. ``output_padding`` (less than the stride or
    the dilation), or ``output_size`` in the call, selects one of them. Each size is an int or one int per dimension.

    Shape: (N, in_channels, {size}) or (in_channels, {size}) to out_channels and
    ``(size - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1`` per dimension; ``weight`` is
    (in_channels, out_channels / groups, *kernel_size), ``bias`` (out_channels,).
    Raises ValueError for groups that do not divide the channels, for a padding mode other than ``"zeros"`` and for an
    output size that cannot be reached.

    Args:
        in_channels (int): the number of input channels.
        out_channels (int): the number of output channels.
        kernel_size (int or tuple of ints): the filters' size.
        stride (int or tuple of ints): the step from one window to the next.
        padding (int or tuple of ints): the number of elements taken off the result at both ends of each dimension.
        output_padding (int or tuple of ints): the number of elements added to the result at one end.
        groups (int): the number of groups into which the channels are divided.
        bias (bool): whether to add a learned bias.
        dilation (int or tuple of ints): the step from one element of a window to the next.
        padding_mode (str): only "zeros".
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> up = nn.{name}(3, 2, 4, stride=2, padding=1)
        >>> up(torch.randn(1, 3, {x4})).shape
        torch.Size([1, 2, {x8}])

    """

    _transposed = True

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes = 0,
                 output_padding: Sizes = 0, groups: int = 1, bias: bool = True, dilation: Sizes = 1,
                 padding_mode: str = "zeros", device: Any = None, dtype: Any = None):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__()
        self._set_up(in_channels, out_channels, groups, ntuple(padding, self._spatial), padding_mode, bias,
                     {"device": device, "dtype": dtype}, kernel_size=kernel_size, stride=stride, dilation=dilation,
                     output_padding=output_padding)

    def forward(self, input, output_size: Sequence[int] | None = None):
        """Return the transposed convolution, of size ``output_size`` if given."""
        conv = getattr(F, f"conv_transpose{self._spatial}d")
        extra = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, self._spatial,
                                     self.dilation)
        return conv(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None, stride: Any, padding: Any, kernel_size: Any,
                        num_spatial_dims: int, dilation: Any = None) -> Any:
        """Return the ``output_padding`` for an output size, or the module's own if the size is None."""
        if output_size is None:
            return self.output_padding
        n, lead = num_spatial_dims, 2 if input.dim() == num_spatial_dims + 2 else 1
        sizes = output_size[lead:] if len(output_size) == lead + n else output_size
        if len(sizes) != n:
            raise ValueError(f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {lead + n} "
                             f"elements (got {len(sizes)})")
        least = [(i - 1) * s - 2 * p + d * (k - 1) + 1 for i, s, p, d, k in
                 zip(input.shape[lead:], stride, padding, dilation or (1,) * n, kernel_size, strict=True)]
        most = [low + s - 1 for low, s in zip(least, stride, strict=True)]
        if not all(low <= size <= high for low, size, high in zip(least, sizes, most, strict=True)):
            raise ValueError(f"requested an output size of {sizes}, but valid sizes range from {least} to {most} (for an "
                             f"input of {input.size()[2:]})")
        return tuple(size - low for size, low in zip(sizes, least, strict=True))


class _ConvTransposeMixin(_ConvTransposeNd):
    """The base class under its old name, which gives a FutureWarning."""

    def __init__(self, *args: Any, **kwargs: Any):
        warned.warn("`_ConvTransposeMixin` is a deprecated internal class. Please consider using public APIs.", FutureWarning)
        super().__init__(*args, **kwargs)


class ConvTranspose1d(_ConvTransposeNd, spatial=1):
    """A transposed convolution over one dimension. See torch.nn.ConvTranspose1d."""


class ConvTranspose2d(_ConvTransposeNd, spatial=2):
    """A transposed convolution over two dimensions. See torch.nn.ConvTranspose2d."""


class ConvTranspose3d(_ConvTransposeNd, spatial=3):
    """A transposed convolution over three dimensions. See torch.nn.ConvTranspose3d."""


class _LazyConvXdMixin(LazyModuleMixin):
    """A convolution that takes the number of input channels from its first input."""

    in_channels: int
    _spatial: int

    def _uninitialized(self: Any, out_channels: int, bias: bool, factory: dict) -> None:
        self.out_channels = out_channels
        self._wait_for(*(("weight", "bias") if bias else ("weight",)), **factory)

    def reset_parameters(self) -> None:
        """Reinitialize the parameters, once they have a shape."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()      # type: ignore[misc]

    def initialize_parameters(self: Any, input: Any, *args: Any, **kwargs: Any) -> None:
        """Create filters for the channels of ``input``."""
        if not self.has_uninitialized_params():
            return
        n = self._spatial
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got "
                               f"input of size: {input.shape}")
        self.in_channels = input.shape[-n - 1]
        self._check()
        self._materialize(weight=self._weight_shape(), bias=(self.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvXdMixin):
    """A convolution whose parameters get their shapes in the first call.

    Shape: the input is (N, C, {size}) or (C, {size}), which gives in_channels = C; the output is that of the ordinary module.

    Args:
        out_channels (int): the number of output channels.
        kernel_size (int or tuple of ints): the filters' size.
        stride (int or tuple of ints): the step from one window to the next.
        padding (int, tuple of ints, or str): elements added at both ends of each dimension, "same" or "valid".
        dilation (int or tuple of ints): the step from one element of a window to the next.
        groups (int): the number of groups into which the channels are divided.
        bias (bool): whether to add a learned bias.
        padding_mode (str): the kind of padding: "zeros", "reflect", "replicate" or "circular".
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> conv = nn.{name}(4, kernel_size=3)
        >>> conv(torch.randn(2, 3, {x8})).shape
        torch.Size([2, 4, {x6}])
        >>> conv.in_channels
        3

    """

    def __init__(self, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: str | Sizes = 0,
                 dilation: Sizes = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None):
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._uninitialized(out_channels, bias, {"device": device, "dtype": dtype})


class _LazyConvTranspose(_LazyConvXdMixin):
    """A convolution whose parameters get their shapes in the first call.

    Shape: the input is (N, C, {size}) or (C, {size}), which gives in_channels = C; the output is that of the ordinary module.

    Args:
        out_channels (int): the number of output channels.
        kernel_size (int or tuple of ints): the filters' size.
        stride (int or tuple of ints): the step from one window to the next.
        padding (int or tuple of ints): the number of elements taken off the result at both ends of each dimension.
        output_padding (int or tuple of ints): the number of elements added to the result at one end.
        groups (int): the number of groups into which the channels are divided.
        bias (bool): whether to add a learned bias.
        dilation (int or tuple of ints): the step from one element of a window to the next.
        padding_mode (str): only "zeros".
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> conv = nn.{name}(4, kernel_size=3)
        >>> conv(torch.randn(2, 3, {x8})).shape
        torch.Size([2, 4, {x10}])
        >>> conv.in_channels
        3

    """

    def __init__(self, out_channels: int, kernel_size: Sizes, stride: Sizes = 1, padding: Sizes = 0,
                 output_padding: Sizes = 0, groups: int = 1, bias: bool = True, dilation: Sizes = 1,
                 padding_mode: str = "zeros", device: Any = None, dtype: Any = None):
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device,
                         dtype)
        self._uninitialized(out_channels, bias, {"device": device, "dtype": dtype})


class LazyConv1d(_LazyConv, Conv1d, spatial=1):
    """A Conv1d that takes ``in_channels`` from its first input. See torch.nn.LazyConv1d."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d, spatial=2):
    """A Conv2d that takes ``in_channels`` from its first input. See torch.nn.LazyConv2d."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d, spatial=3):
    """A Conv3d that takes ``in_channels`` from its first input. See torch.nn.LazyConv3d."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d, spatial=1):
    """A ConvTranspose1d that takes ``in_channels`` from its first input. See torch.nn.LazyConvTranspose1d."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d, spatial=2):
    """A ConvTranspose2d that takes ``in_channels`` from its first input. See torch.nn.LazyConvTranspose2d."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d, spatial=3):
    """A ConvTranspose3d that takes ``in_channels`` from its first input. See torch.nn.LazyConvTranspose3d."""

    cls_to_become = ConvTranspose3d

del Spatial, _Conv, _LazyConv, _LazyConvTranspose      # PyTorch's module does not have these names
