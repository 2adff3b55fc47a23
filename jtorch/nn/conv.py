"""Convolutions."""
from __future__ import annotations

import math
from typing import Any

from jtorch.nn import functional, init
from jtorch.nn._make import ntuple, parameter
from jtorch.nn.module import Module

F: Any = functional
_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(Module):
    n = 0

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None):
        super().__init__()
        self._check(in_channels, out_channels, groups, padding, padding_mode, stride)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = ntuple(kernel_size, self.n), ntuple(stride, self.n)
        self.padding = padding if isinstance(padding, str) else ntuple(padding, self.n)
        self.dilation, self.groups, self.padding_mode = ntuple(dilation, self.n), groups, padding_mode
        self._around = self._amounts()
        self.weight = parameter(out_channels, in_channels // groups, *self.kernel_size, device=device, dtype=dtype)
        self.register_parameter("bias", parameter(out_channels, device=device, dtype=dtype) if bias else None)
        self.reset_parameters()

    def _check(self, inputs: int, outputs: int, groups: int, padding: Any, mode: str, stride: Any) -> None:
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if inputs % groups:
            raise ValueError("in_channels must be divisible by groups")
        if outputs % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}")
        if padding == "same" and any(s != 1 for s in ntuple(stride, self.n)):
            raise ValueError("padding='same' is not supported for strided convolutions")
        if mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {{{', '.join(map(repr, _MODES))}}}, but got padding_mode='{mode}'")

    def _amounts(self) -> tuple[int, ...]:
        """What ``F.pad`` takes, for the modes that pad first."""
        if not isinstance(self.padding, str):
            return tuple(x for p in reversed(self.padding) for x in (p, p))
        total = [d * (k - 1) if self.padding == "same" else 0 for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        return tuple(x for t in reversed(total) for x in (t // 2, t - t // 2))

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = init._calculate_fan_in_and_fan_out(self.weight)[0]
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def forward(self, input):
        """The convolution."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._around, mode=self.padding_mode), 0
        return getattr(F, f"conv{self.n}d")(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        """The options that are not the default."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * self.n:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self.n:
            text += f", dilation={self.dilation}"
        text += f", groups={self.groups}" if self.groups != 1 else ""
        text += "" if self.bias is not None else ", bias=False"
        return text + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


class Conv1d(_Conv):
    """See torch.nn.Conv1d."""

    n = 1


class Conv2d(_Conv):
    """See torch.nn.Conv2d."""

    n = 2


class Conv3d(_Conv):
    """See torch.nn.Conv3d."""

    n = 3
