"""Normalization within a sample. See https://docs.pytorch.org/docs/stable/nn.html#normalization-layers."""
from __future__ import annotations

import numbers
from typing import Any

from jtorch._api.creation import tensor
from jtorch.nn import functional as F
from jtorch.nn import init
from jtorch.nn.modules._make import parameter
from jtorch.nn.modules.module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]



class _Affine(Module):
    """A normalization followed by an affine map with ``weight`` and ``bias``, which can be None."""

    weight: Any
    bias: Any

    def _set_affine(self, shape: tuple[int, ...], weight: bool, bias: bool | None, device: Any, dtype: Any) -> None:
        """Create the affine map; ``bias=None`` is for modules that never have a bias."""
        wanted = {"weight": weight} if bias is None else {"weight": weight, "bias": weight and bias}
        for name, made in wanted.items():
            self.register_parameter(name, parameter(*shape, device=device, dtype=dtype) if made else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the affine map to the identity."""
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            if self._parameters.get(name) is not None:
                fill(self._parameters[name])

    def _shape_of(self, normalized_shape: Any) -> tuple[int, ...]:
        return (int(normalized_shape),) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)


class LayerNorm(_Affine):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the last dimensions. See torch.nn.LayerNorm.

    ``normalized_shape`` lists the sizes of the normalized last dimensions. The variance is the biased one. Source: Ba,
    Kiros and Hinton, Layer Normalization, 2016.

    Shape: (..., *normalized_shape), which ``weight`` and ``bias`` have too; RuntimeError for another.

    Args:
        normalized_shape (int or sequence of ints): the sizes of the last dims, which are normalized together.
        eps (float): added to the variance, so that the denominator is not 0.
        elementwise_affine (bool): whether each element has a learned weight.
        bias (bool): whether to add a learned bias.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> norm = nn.LayerNorm(4)
        >>> norm(torch.tensor([[1.0, 2.0, 3.0, 4.0]])).mean(-1)
        tensor([0.], grad_fn=<MeanBackward1>)

    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
                 device: Any = None, dtype: Any = None):
        super().__init__()
        self.normalized_shape = self._shape_of(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._set_affine(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def forward(self, input):
        """Return the normalized input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the options."""
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
                f"bias={self.bias is not None}")


class RMSNorm(_Affine):
    """``x / sqrt(mean(x²) + eps) * weight`` over the last dimensions. See torch.nn.RMSNorm.

    With ``eps=None`` the dtype's machine epsilon is used. Source: Zhang and Sennrich, Root Mean Square Layer
    Normalization, 2019.

    Shape: (..., *normalized_shape), which ``weight`` has too; RuntimeError for another.

    Args:
        normalized_shape (int or sequence of ints): the sizes of the last dims, which are normalized together.
        eps (float or None): added to the mean square, so that the denominator is not 0.
        elementwise_affine (bool): whether each element has a learned weight.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> nn.RMSNorm(2, elementwise_affine=False)(torch.tensor([1.0, 7.0]))
        tensor([0.2000, 1.4000])

    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None,
                 dtype: Any = None):
        super().__init__()
        self.normalized_shape = self._shape_of(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._set_affine(self.normalized_shape, elementwise_affine, None, device, dtype)

    def forward(self, x):
        """Return the normalized input."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` per sample and group of channels. See torch.nn.GroupNorm.

    The variance is the biased one. ``weight`` and ``bias`` have one number per channel. Source: Wu and He, Group
    Normalization, 2018.

    Shape: (N, num_channels, ...).
    Raises ValueError where the groups do not divide the channels, and where a group has one element only.

    Args:
        num_groups (int): the number of groups into which the channels are divided.
        num_channels (int): the number of channels C.
        eps (float): added to the variance, so that the denominator is not 0.
        affine (bool): whether there are learned weights and biases.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.
        bias (bool): whether to add a learned bias.

    Example::

        >>> nn.GroupNorm(2, 4)(torch.randn(3, 4, 5)).shape
        torch.Size([3, 4, 5])

    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
                 dtype: Any = None, *, bias: bool = True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._set_affine((num_channels,), affine, bias, device, dtype)

    def forward(self, input):
        """Return the normalized input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """``x / (k + alpha * mean)**beta``, with the mean of x² over ``size`` neighboring channels.

    See torch.nn.LocalResponseNorm.

    Channels before the first and after the last count as 0 in the mean. ``alpha`` is divided by ``size``; the source
    does not divide. Source: Krizhevsky, Sutskever and Hinton, ImageNet Classification with Deep Convolutional Neural
    Networks, 2012.

    Shape: (N, C, ...), at least three dimensions; ValueError for fewer.

    Args:
        size (int): the number of neighboring channels in the mean.
        alpha (float): the factor in the formula.
        beta (float): the exponent in the formula.
        k (float): the summand in the formula.

    Example::

        >>> nn.LocalResponseNorm(2)(torch.randn(3, 4, 5)).shape
        torch.Size([3, 4, 5])

    """

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        """Return the normalized input."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """LocalResponseNorm as it was in Lua Torch. See torch.nn.CrossMapLRN2d.

    The neighbours of a channel are less than ``(size + 1) // 2`` away. As in PyTorch, channel 0 is always a neighbour.
    The gradient is that of this formula; PyTorch's gradient omits channel 0.

    Shape: (N, C, H, W); ValueError for another number of dimensions.

    Args:
        size (int): the number of neighboring channels in the sum.
        alpha (float): the factor in the formula.
        beta (float): see the formula.
        k (float): added to the sum.

    Example::

        >>> nn.CrossMapLRN2d(3)(torch.randn(1, 4, 5, 5)).shape
        torch.Size([1, 4, 5, 5])

    """

    __constants__ = []

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1):
        super().__init__(size, alpha, beta, k)

    def forward(self, input):
        """Return the normalized input."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach, channels = (self.size - 1) // 2 + 1, range(input.size(1))
        near = [[float(j == 0 or abs(i - j) < reach) for j in channels] for i in channels]
        squares = (input * input).transpose(1, 3)
        scale = F.linear(squares, tensor(near, dtype=input.dtype, device=input.device)).transpose(1, 3)
        return input * (scale * (self.alpha / self.size) + self.k) ** -self.beta

del _Affine      # PyTorch's module does not have this name
