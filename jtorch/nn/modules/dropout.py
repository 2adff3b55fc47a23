"""Dropout layers. See https://docs.pytorch.org/docs/stable/nn.html#dropout-layers."""
from __future__ import annotations

from jtorch.nn import functional as F
from jtorch.nn.modules.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]



class _DropoutNd(Module):
    """A dropout that calls ``_function`` of nn.functional."""

    __constants__ = ["p", "inplace"]
    _function = ""

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        """Return the input, with dropout in training."""
        return getattr(F, self._function)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes each element with probability ``p`` in training, and scales the others by 1/(1-p).

    See torch.nn.Dropout.

    Shape: any. Raises ValueError for a probability that is not between 0 and 1. The method is that of Hinton et al.,
    "Improving neural networks by preventing co-adaptation of feature detectors", 2012.

    Args:
        p (float): the probability that an element is dropped.
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.Dropout(0.2).eval()(torch.ones(3))
        tensor([1., 1., 1.])

    """

    _function = "dropout"


class Dropout1d(_DropoutNd):
    """Zeroes whole channels with probability ``p`` in training, and scales the others by 1/(1-p).

    See torch.nn.Dropout1d.

    Shape: (N, C, L) or (C, L); RuntimeError for others.

    Args:
        p (float): the probability that a channel is dropped.
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.Dropout1d(1.0)(torch.ones(2, 3))
        tensor([[0., 0., 0.],
                [0., 0., 0.]])

    """

    _function = "dropout1d"


class Dropout2d(_DropoutNd):
    """Zeroes whole channels with probability ``p`` in training, and scales the others by 1/(1-p).

    See torch.nn.Dropout2d.

    Shape: (N, C, H, W); (N, C, L) works with a warning, as in PyTorch.

    Args:
        p (float): the probability that a channel is dropped.
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.Dropout2d(0.5)(torch.ones(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])

    """

    _function = "dropout2d"


class Dropout3d(_DropoutNd):
    """Zeroes whole channels with probability ``p`` in training, and scales the others by 1/(1-p).

    See torch.nn.Dropout3d.

    Shape: (N, C, D, H, W) or (C, D, H, W); others work with a warning, as in PyTorch.

    Args:
        p (float): the probability that a channel is dropped.
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.Dropout3d(0.5)(torch.ones(2, 3, 4, 4, 4)).shape
        torch.Size([2, 3, 4, 4, 4])

    """

    _function = "dropout3d"


class _Alpha(_DropoutNd):
    def forward(self, input):
        """Return the input, with alpha dropout in training. It ignores ``inplace``, as PyTorch does."""
        return getattr(F, self._function)(input, self.p, self.training)


class AlphaDropout(_Alpha):
    """Dropout for networks with ``SELU``: dropped elements take selu's lower limit. See torch.nn.AlphaDropout.

    The outputs of inputs with mean 0 and variance 1 also have mean 0 and variance 1. Shape: any. Source:
    Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Args:
        p (float): the probability that an element is dropped.
        inplace (bool): accepted; it has no effect, as in PyTorch.

    Example::

        >>> nn.AlphaDropout(0.2).eval()(torch.ones(3))
        tensor([1., 1., 1.])

    """

    _function = "alpha_dropout"


class FeatureAlphaDropout(_Alpha):
    """``AlphaDropout`` of whole channels. See torch.nn.FeatureAlphaDropout.

    Shape: (N, C, ...); RuntimeError for fewer than two dimensions.

    Args:
        p (float): the probability that a channel is dropped.
        inplace (bool): accepted; it has no effect, as in PyTorch.

    Example::

        >>> nn.FeatureAlphaDropout(0.2).eval()(torch.ones(1, 3))
        tensor([[1., 1., 1.]])

    """

    _function = "feature_alpha_dropout"

del _Alpha      # PyTorch's module does not have this name
