"""Pooling."""
from __future__ import annotations

from typing import Any

from jtorch.nn import functional
from jtorch.nn.module import Module

F: Any = functional


class _MaxPool(Module):
    n = 0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
                 ceil_mode: bool = False):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input):
        """The largest of each window."""
        return getattr(F, f"max_pool{self.n}d")(input, self.kernel_size, self.stride, self.padding, self.dilation,
                                                ceil_mode=self.ceil_mode, return_indices=self.return_indices)

    def extra_repr(self) -> str:
        """The options."""
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
                f"ceil_mode={self.ceil_mode}")


class _Adaptive(Module):
    function = ""

    def __init__(self, output_size: Any):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        """The pooled input."""
        return getattr(F, self.function)(input, self.output_size)

    def extra_repr(self) -> str:
        """The size."""
        return f"output_size={self.output_size}"


def _made(name: str, base: type, **facts: Any) -> type[Module]:
    return type(name, (base,), {**facts, "__doc__": f"See torch.nn.{name}.", "__module__": __name__})


class AvgPool2d(Module):
    """See torch.nn.AvgPool2d."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input):
        """The mean of each window."""
        return F.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                            self.divisor_override)

    def extra_repr(self) -> str:
        """The options."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


MaxPool1d, MaxPool2d, MaxPool3d = (_made(f"MaxPool{n}d", _MaxPool, n=n) for n in (1, 2, 3))
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = (
    _made(f"AdaptiveAvgPool{n}d", _Adaptive, function=f"adaptive_avg_pool{n}d") for n in (1, 2, 3))

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AvgPool2d", "MaxPool1d", "MaxPool2d", "MaxPool3d",
]
