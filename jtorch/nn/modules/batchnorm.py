"""Batch normalization. See https://docs.pytorch.org/docs/stable/nn.html#normalization-layers."""
from __future__ import annotations

import sys
from typing import Any

from jtorch._api.creation import tensor
from jtorch.dtype import int64
from jtorch.nn import functional as F
from jtorch.nn import init
from jtorch.nn.modules._make import empty, parameter
from jtorch.nn.modules._spatial import Spatial
from jtorch.nn.modules.lazy import LazyModuleMixin
from jtorch.tensor import Tensor

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "SyncBatchNorm",
]

_STATISTICS = ("running_mean", "running_var")


class _NormBase(Spatial):
    """Running statistics and an affine map per channel."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    _dims: tuple[int, ...] = ()     # the allowed numbers of dims of inputs
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, parameter(num_features, device=device, dtype=dtype) if wanted else None)
        for name in _STATISTICS:
            self.register_buffer(name, empty(num_features, device=device, dtype=dtype) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", _count(device) if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running statistics."""
        for name, value in (("running_mean", 0), ("running_var", 1), ("num_batches_tracked", 0)):
            if self.track_running_stats:
                getattr(self, name).fill_(value)

    def reset_parameters(self) -> None:
        """Set the affine map to the identity, and reset the statistics."""
        self.reset_running_stats()
        for param, fill in ((self.weight, init.ones_), (self.bias, init.zeros_)):
            if param is not None:
                fill(param)

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() not in self._dims:
            raise ValueError(f"expected {' or '.join(f'{d}D' for d in self._dims)} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        """Return the options."""
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest) -> None:
        """Load a module's state. Files of PyTorch before 0.4.1 have no ``num_batches_tracked``, so the module keeps its
        own.
        """
        version, key = local_metadata.get("version"), f"{prefix}num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            state_dict[key] = _count(None) if self.num_batches_tracked is None else self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


def _count(device: Any) -> Tensor:
    return tensor(0, dtype=int64, device=device)


# All layers share this tensor. With a Python 1, a compiled program would take one more number for each layer.
_ONE = tensor(1, dtype=int64, device="cpu")


class _BatchNorm(_NormBase):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` per channel (Ioffe and Szegedy, "Batch Normalization", 2015).

    In training, the mean and the biased variance of the batch normalize the input. With ``track_running_stats``,
    training also updates running statistics (with the unbiased variance), which evaluation uses. ``momentum`` is the
    weight of the new batch; with None the running statistics are the average of all batches. ``affine=False`` omits
    ``weight`` and ``bias``; ``bias=False`` omits only ``bias``.

    Raises ValueError for another number of dimensions, and in training where a channel has one value only.

    Args:
        num_features (int): the number of channels C.
        eps (float): added to the variance, so that the denominator is not 0.
        momentum (float or None): the weight of new statistics in the running ones; None averages over all batches.
        affine (bool): whether there are learned weights and biases.
        track_running_stats (bool): whether to keep running statistics, which evaluation uses.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.
        bias (bool): whether to add a learned bias.

    Example::

        >>> norm = nn.{name}(3)
        >>> norm(torch.randn(4, 3, {x2})).shape, norm.num_batches_tracked
        (torch.Size([4, 3, {x2}]), tensor(1))

    """

    def forward(self, input):
        """Return the normalized input."""
        self._check_input_dim(input)
        return self._normalized(input)

    def _normalized(self, input: Tensor) -> Any:
        moving = self.training and self.track_running_stats
        if moving and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(_ONE if self.num_batches_tracked.device == _ONE.device else 1)
        mean, var = (self.running_mean, self.running_var) if moving or not self.training else (None, None)
        from_batch = self.training or (mean is None and var is None)
        return F.batch_norm(input, mean, var, self.weight, self.bias, from_batch, self._factor(moving), self.eps)

    def _factor(self, moving: bool) -> float:
        """Return the weight of the batch's statistics in the running ones."""
        if self.momentum is not None:
            return self.momentum
        return 1.0 / float(self.num_batches_tracked) if moving and self.num_batches_tracked is not None else 0.0


class BatchNorm1d(_BatchNorm, spatial=1):
    """Batch normalization of (N, C) or (N, C, L). See torch.nn.BatchNorm1d.

    Shape: (N, C) or (N, C, L), floating; the result's is the same.
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm, spatial=2):
    """Batch normalization of (N, C, H, W). See torch.nn.BatchNorm2d.

    Shape: (N, C, H, W), floating; the result's is the same.
    """

    _dims = (4,)


class BatchNorm3d(_BatchNorm, spatial=3):
    """Batch normalization of (N, C, D, H, W). See torch.nn.BatchNorm3d.

    Shape: (N, C, D, H, W), floating; the result's is the same.
    """

    _dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over the batches of all processes. See torch.nn.SyncBatchNorm.

    In training, the statistics and their gradients cover the batches of all ranks of ``process_group``. In one process
    this is batch normalization of inputs (N, C, ...) of any number of dimensions.

    Shape: (N, C, ...), floating; the result's is the same.

    Args:
        num_features (int): the number of channels C.
        eps (float): added to the variance, so that the denominator is not 0.
        momentum (float or None): the weight of new statistics in the running ones; None averages over all batches.
        affine (bool): whether there are learned weights and biases.
        track_running_stats (bool): whether to keep running statistics, which evaluation uses.
        process_group (ProcessGroup or None): the ranks; None means all.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.
        bias (bool): whether to add a learned bias.

    Example::

        >>> model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
        >>> nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]
        SyncBatchNorm(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)

    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *,
                 bias: bool = True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Any) -> Any:
        """Return the normalized input."""
        self._check_input_dim(input)
        from_batch = self.training or self.running_mean is None
        if not (from_batch and self.training and "jtorch.distributed" in sys.modules):
            return self._normalized(input)
        from jtorch.nn.modules import _sync_batch_norm as ranks
        group = ranks.group_of(input, self.process_group)
        if group is None:
            return self._normalized(input)
        mean, variance, n = ranks.statistics(input, group)
        self._follow(mean.detach(), variance.detach() * (n / max(n - 1, 1)))
        return ranks.normalized(input, mean, variance, self.weight, self.bias, self.eps)

    def _follow(self, mean: Any, variance: Any) -> None:
        """Update the running statistics by those of a batch."""
        if self.running_mean is None:
            return
        self.num_batches_tracked.add_(1)
        rate = 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        for running, new in ((self.running_mean, mean), (self.running_var, variance)):
            running.mul_(1 - rate).add_(new.to(running.dtype), alpha=rate)

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """Replace all batch norms in a module by this class; they share parameters and statistics."""
        made = module
        if isinstance(module, _BatchNorm):
            made = SyncBatchNorm(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                                 process_group, bias=module.bias is not None)
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _LazyNormBase(LazyModuleMixin):
    """A normalization whose parameters and statistics get their shapes in the first call.

    Shape: the input is that of the ordinary module, and gives num_features = C; the output has the same shape.

    Args:
        eps (float): added to the variance, so that the denominator is not 0.
        momentum (float or None): the weight of new statistics in the running ones; for None see the ordinary module.
        affine (bool): whether there are learned weights and biases.
        track_running_stats (bool): whether to keep running statistics, which evaluation uses.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.
        bias (bool): whether to add a learned bias.

    Example::

        >>> norm = nn.{name}()
        >>> norm(torch.randn(2, 3, {x8})).shape
        torch.Size([2, 3, {x8}])
        >>> norm.num_features
        3

    """

    num_features: int

    def __init__(self: Any, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True):
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        own = ("weight", "bias") if bias else ("weight",)
        kept = _STATISTICS if track_running_stats else ()
        self._wait_for(*(own if affine else ()), buffers=kept, device=device, dtype=dtype)
        if track_running_stats:
            self.num_batches_tracked = _count(device)

    def reset_parameters(self) -> None:
        """Set the affine map to the identity and reset the statistics, once they have a shape."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()      # type: ignore[misc]

    def initialize_parameters(self: Any, input: Any) -> None:
        """Create statistics and an affine map for the channels of ``input``."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            names = (("weight", "bias") if self.affine else ()) + (_STATISTICS if self.track_running_stats else ())
            self._materialize(**dict.fromkeys(names, (self.num_features,)))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d, spatial=1):
    """A BatchNorm1d that takes ``num_features`` from its first input. See torch.nn.LazyBatchNorm1d."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d, spatial=2):
    """A BatchNorm2d that takes ``num_features`` from its first input. See torch.nn.LazyBatchNorm2d."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d, spatial=3):
    """A BatchNorm3d that takes ``num_features`` from its first input. See torch.nn.LazyBatchNorm3d."""

    cls_to_become = BatchNorm3d

del Spatial      # PyTorch's module does not have this name
