"""Normalization layers."""
from __future__ import annotations

import numbers
from typing import Any

from jtorch.creation import tensor
from jtorch.dtype import int64
from jtorch.nn import functional, init
from jtorch.nn._make import empty, parameter
from jtorch.nn.module import Module

F: Any = functional


class _NormBase(Module):
    """Running statistics and an affine map per channel."""

    _version = 2
    dims: tuple[int, ...] = ()
    input_name = ""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, parameter(num_features, device=device, dtype=dtype) if wanted else None)
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, empty(num_features, device=device, dtype=dtype) if track_running_stats else None)
        count = tensor(0, dtype=int64, device=device) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forgets the statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Sets the affine map to the identity."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() not in self.dims:
            raise ValueError(f"expected {' or '.join(f'{d}D' for d in self.dims)} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        """The options."""
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")


class _BatchNorm(_NormBase):
    def forward(self, input):
        """The normalized input."""
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        batch = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if keep else None, self.running_var if keep else None, self.weight,
                            self.bias, batch, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """See torch.nn.BatchNorm1d."""

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """See torch.nn.BatchNorm2d."""

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """See torch.nn.BatchNorm3d."""

    dims = (5,)


class LayerNorm(Module):
    """See torch.nn.LayerNorm."""

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
                 device: Any = None, dtype: Any = None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            self.register_parameter(name, parameter(*self.normalized_shape, device=device, dtype=dtype) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the affine map to the identity."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        """The normalized input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
                f"bias={self.bias is not None}")


class GroupNorm(Module):
    """See torch.nn.GroupNorm."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
                 dtype: Any = None, *, bias: bool = True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, parameter(num_channels, device=device, dtype=dtype) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the affine map to the identity."""
        if self.affine:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        """The normalized input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"
