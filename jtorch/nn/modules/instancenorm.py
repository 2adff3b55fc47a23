"""Instance normalization. See https://docs.pytorch.org/docs/stable/nn.html#normalization-layers."""
from __future__ import annotations

from typing import Any

from jtorch._base import warned
from jtorch.nn import functional as F
from jtorch.nn.modules.batchnorm import _STATISTICS, _LazyNormBase, _NormBase
from jtorch.tensor import Tensor

__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d",
]



class _InstanceNorm(_NormBase):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` per sample and channel (Ulyanov et al., 2016).

    By default the mean and the biased variance of each input channel normalize it. With ``track_running_stats``,
    training updates running statistics by ``momentum``, and evaluation uses these. ``affine`` adds ``weight`` and
    ``bias``; ``bias=False`` omits ``bias``.

    Shape: (N, C, {size}) or (C, {size}).
    Raises ValueError for another number of dimensions, for a number of channels other than ``num_features`` where it is
    affine (a warning where it is not), and where a channel has one element only.

    Args:
        num_features (int): the number of channels C.
        eps (float): added to the variance, so that the denominator is not 0.
        momentum (float or None): the weight of new statistics in the running ones; None means 0.
        affine (bool): whether there are learned weights and biases.
        track_running_stats (bool): whether to keep running statistics, which evaluation uses.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.
        bias (bool): whether to add a learned bias.

    Example::

        >>> norm = nn.{name}(3)
        >>> norm(torch.randn(4, 3, {x2})).shape
        torch.Size([4, 3, {x2}])

    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        return self._spatial + 1

    def _check_input_dim(self, input: Any) -> None:
        n = self._get_no_batch_dim()
        if input.dim() not in (n, n + 1):
            raise ValueError(f"expected {n}D or {n + 1}D input (got {input.dim()}D input)")

    def _check_channels(self, input: Tensor) -> None:
        dim = input.dim() - self._get_no_batch_dim()
        if input.size(dim) == self.num_features:
            return
        if self.affine:
            raise ValueError(f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                             f"{input.size(dim)}.")
        warned.warn(f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in "
                    "num_features, which is not used because affine=False")

    def forward(self, input):
        """Return the normalized input."""
        self._check_input_dim(input)
        self._check_channels(input)
        if input.dim() == self._get_no_batch_dim():
            return self._normalized(input.unsqueeze(0)).squeeze(0)
        return self._normalized(input)

    def _normalized(self, input: Any) -> Any:
        from_input = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        return F.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias, from_input, momentum,
                               self.eps)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs) -> None:
        """Load a module's state. Files of PyTorch before 0.4.0 hold statistics that modules no longer keep by
        default.
        """
        if local_metadata.get("version") is None and not self.track_running_stats:
            found = [name for name in _STATISTICS if state_dict.pop(prefix + name, None) is not None]
            if found:
                error_msgs.append(self._not_tracked(" and ".join(f'"{prefix}{name}"' for name in found)))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def _not_tracked(self, names: str) -> str:
        name = type(self).__name__
        return (f"Unexpected running stats buffer(s) {names} for {name} with track_running_stats=False. If state_dict is a "
                "checkpoint saved before 0.4.0, this may be expected: remove these keys from it, or make the module with "
                "track_running_stats=True.")


class InstanceNorm1d(_InstanceNorm, spatial=1):
    """Instance normalization over one dimension. See torch.nn.InstanceNorm1d."""


class InstanceNorm2d(_InstanceNorm, spatial=2):
    """Instance normalization over two dimensions. See torch.nn.InstanceNorm2d."""


class InstanceNorm3d(_InstanceNorm, spatial=3):
    """Instance normalization over three dimensions. See torch.nn.InstanceNorm3d."""


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d, spatial=1):
    """An InstanceNorm1d that takes ``num_features`` from its first input. See torch.nn.LazyInstanceNorm1d."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d, spatial=2):
    """An InstanceNorm2d that takes ``num_features`` from its first input. See torch.nn.LazyInstanceNorm2d."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d, spatial=3):
    """An InstanceNorm3d that takes ``num_features`` from its first input. See torch.nn.LazyInstanceNorm3d."""

    cls_to_become = InstanceNorm3d
