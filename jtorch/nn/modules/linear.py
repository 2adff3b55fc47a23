"""Linear layers."""
from __future__ import annotations

import math
from typing import Any

from jtorch.nn import functional as F
from jtorch.nn import init
from jtorch.nn.modules._make import parameter
from jtorch.nn.modules.lazy import LazyModuleMixin
from jtorch.nn.modules.module import Module


class Identity(Module):
    """Returns its input; accepts any arguments. Shape: any. See torch.nn.Identity.

    >>> nn.Identity(54, unused=True)(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def forward(self, input):
        """Return the input."""
        return input


class Linear(Module):
    """``x @ weight.T + bias``. See torch.nn.Linear.

    The initial values of both are uniform within ``1 / sqrt(in_features)``.

    Shape: (..., in_features) to (..., out_features); ``weight`` is (out_features, in_features), ``bias`` (out_features,).

    Args:
        in_features (int): the number of input features.
        out_features (int): the number of output features.
        bias (bool): whether to add a learned bias.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> nn.Linear(3, 2)(torch.randn(4, 3)).shape
        torch.Size([4, 2])

    """

    __constants__ = ["in_features", "out_features"]

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = parameter(out_features, in_features, device=device, dtype=dtype)
        if bias:
            self.bias = parameter(out_features, device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input):
        """Return the layer's result."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """The class of MultiheadAttention's output projection, a Linear under another name. See torch.nn.modules.linear."""


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear that takes ``in_features`` from its first input. See torch.nn.LazyLinear.

    Shape: that of nn.Linear; in_features is that of the first input.

    Args:
        out_features (int): the number of output features.
        bias (bool): whether to add a learned bias.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> layer = nn.LazyLinear(2)
        >>> layer(torch.randn(4, 3)).shape, layer
        (torch.Size([4, 2]), Linear(in_features=3, out_features=2, bias=True))

    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__(0, 0, False)
        self.out_features = out_features
        self._wait_for(*(("weight", "bias") if bias else ("weight",)), device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Reinitialize the parameters, once they have a shape."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input) -> None:
        """Create a weight for the last dim of ``input``."""
        features = input.shape[-1]
        if self.has_uninitialized_params():
            self.in_features = features
            self._materialize(weight=(self.out_features, features), bias=(self.out_features,))
            self.reset_parameters()
        elif self.in_features == 0:     # A loaded state dict gave the weight its shape.
            if features != self.weight.shape[-1]:
                raise AssertionError(f"The in_features inferred from input: {features} is not equal to in_features from "
                                     f"self.weight: {self.weight.shape[-1]}")
            self.in_features = features


class Bilinear(Module):
    """``x1 @ weight @ x2 + bias``. See torch.nn.Bilinear.

    Shape: (..., in1_features) and (..., in2_features) to (..., out_features); ``weight`` is (out_features,
    in1_features, in2_features).

    Args:
        in1_features (int): the number of features of the first input.
        in2_features (int): the number of features of the second input.
        out_features (int): the number of output features.
        bias (bool): whether to add a learned bias.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> nn.Bilinear(2, 3, 4)(torch.randn(5, 2), torch.randn(5, 3)).shape
        torch.Size([5, 4])

    """

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
                 dtype: Any = None):
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = parameter(out_features, in1_features, in2_features, device=device, dtype=dtype)
        self.register_parameter("bias", parameter(out_features, device=device, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        width = 1 / math.sqrt(self.in1_features)
        for drawn in (self.weight, self.bias):
            if drawn is not None:
                init.uniform_(drawn, -width, width)

    def forward(self, input1, input2):
        """Return the layer's result."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")
