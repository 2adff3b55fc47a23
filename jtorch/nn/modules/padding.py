"""Padding layers. See https://docs.pytorch.org/docs/stable/nn.html#padding-layers."""
from __future__ import annotations

from typing import Any

from jtorch.nn import functional as F
from jtorch.nn.modules._make import ntuple
from jtorch.nn.modules._spatial import Spatial

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ReflectionPad1d",
    "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d",
    "ZeroPad3d",
]

Padding = int | tuple[int, ...]


class _PadNd(Spatial):
    """Padding with elements of the input, by ``F.pad`` with the mode ``_mode``."""

    __constants__ = ["padding"]
    _mode = ""

    def __init__(self, padding: Padding):
        super().__init__()
        self.padding = ntuple(padding, 2 * self._spatial)

    def forward(self, input):
        """Return the padded input."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """Return the numbers of elements added."""
        return f"{self.padding}"


class _ReflectionPadNd(_PadNd):
    """Pads with the input mirrored at its borders; border elements are not repeated.

    ``padding`` is one number for all sides, or (before, after) of the last dimension, then of the dimension before it,
    …. A negative number removes elements.

    Shape: (N, C, {size}) or (C, {size}), each of these sizes growing by before + after.
    Raises RuntimeError where a padding is not less than the size.

    Args:
        padding (int or tuple of ints): elements added at both ends of each dimension, or at (first, last, ...) from
            the last dim on.

    Example::

        >>> pad = nn.{name}(2)
        >>> pad(torch.arange(4.0).expand(1, {x4})).shape
        torch.Size([1, {x8}])

    """

    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd, spatial=1):
    """Padding of one dimension by mirroring. See torch.nn.ReflectionPad1d."""


class ReflectionPad2d(_ReflectionPadNd, spatial=2):
    """Padding of two dimensions by mirroring. See torch.nn.ReflectionPad2d."""


class ReflectionPad3d(_ReflectionPadNd, spatial=3):
    """Padding of three dimensions by mirroring. See torch.nn.ReflectionPad3d."""


class _ReplicationPadNd(_PadNd):
    """Pads by repeating the elements at the input's borders.

    ``padding`` is one number for all sides, or (before, after) of the last dimension, then of the dimension before it,
    …. A negative number removes elements.

    Shape: (N, C, {size}) or (C, {size}), each of these sizes growing by before + after.

    Args:
        padding (int or tuple of ints): elements added at both ends of each dimension, or at (first, last, ...) from
            the last dim on.

    Example::

        >>> pad = nn.{name}(2)
        >>> pad(torch.arange(4.0).expand(1, {x4})).shape
        torch.Size([1, {x8}])

    """

    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd, spatial=1):
    """Padding of one dimension by repetition. See torch.nn.ReplicationPad1d."""


class ReplicationPad2d(_ReplicationPadNd, spatial=2):
    """Padding of two dimensions by repetition. See torch.nn.ReplicationPad2d."""


class ReplicationPad3d(_ReplicationPadNd, spatial=3):
    """Padding of three dimensions by repetition. See torch.nn.ReplicationPad3d."""


class _CircularPadNd(_PadNd):
    """Pads with elements from the other end of the input.

    ``padding`` is one number for all sides, or (before, after) of the last dimension, then of the dimension before it,
    …. A negative number removes elements.

    Shape: (N, C, {size}) or (C, {size}), each of these sizes growing by before + after.
    Raises ValueError for another number of dimensions, RuntimeError where a padding is more than the size.

    Args:
        padding (int or tuple of ints): elements added at both ends of each dimension, or at (first, last, ...) from
            the last dim on.

    Example::

        >>> pad = nn.{name}(2)
        >>> pad(torch.arange(4.0).expand(1, {x4})).shape
        torch.Size([1, {x8}])

    """

    _mode = "circular"

    def _check_input_dim(self, input: Any) -> None:
        n = self._spatial
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def forward(self, input):
        """Return the padded input."""
        self._check_input_dim(input)
        return super().forward(input)


class CircularPad1d(_CircularPadNd, spatial=1):
    """Padding of one dimension by wrapping around. See torch.nn.CircularPad1d."""


class CircularPad2d(_CircularPadNd, spatial=2):
    """Padding of two dimensions by wrapping around. See torch.nn.CircularPad2d."""


class CircularPad3d(_CircularPadNd, spatial=3):
    """Padding of three dimensions by wrapping around. See torch.nn.CircularPad3d."""


class _ConstantPadNd(Spatial):
    """Pads with one value.

    ``padding`` is one number for all sides, or (before, after) of the last dimension, then of the dimension before it,
    …. A negative number removes elements.

    Shape: (..., {size}), each of these sizes growing by before + after.

    Args:
        padding (int or tuple of ints): elements added at both ends of each dimension, or at (first, last, ...) from
            the last dim on.
        value (float): the value of the added elements.

    Example::

        >>> pad = nn.{name}(2, 3.5)
        >>> pad(torch.zeros(1, {x4})).shape
        torch.Size([1, {x8}])

    """

    __constants__ = ["padding", "value"]

    def __init__(self, padding: Padding, value: float):
        super().__init__()
        self.padding, self.value = ntuple(padding, 2 * self._spatial), value

    def forward(self, input):
        """Return the padded input."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Return the numbers of elements added, and their value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd, spatial=1):
    """Padding of one dimension with a value. See torch.nn.ConstantPad1d."""


class ConstantPad2d(_ConstantPadNd, spatial=2):
    """Padding of two dimensions with a value. See torch.nn.ConstantPad2d."""


class ConstantPad3d(_ConstantPadNd, spatial=3):
    """Padding of three dimensions with a value. See torch.nn.ConstantPad3d."""


class _ZeroPadNd(_ConstantPadNd):
    """Pads with zeros.

    ``padding`` is one number for all sides, or (before, after) of the last dimension, then of the dimension before it,
    …. A negative number removes elements.

    Shape: (..., {size}), each of these sizes growing by before + after.

    Args:
        padding (int or tuple of ints): elements added at both ends of each dimension, or at (first, last, ...) from
            the last dim on.

    Example::

        >>> pad = nn.{name}(2)
        >>> pad(torch.ones(1, {x4})).shape
        torch.Size([1, {x8}])

    """

    def __init__(self, padding: Padding):
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the numbers of elements added."""
        return f"{self.padding}"


class ZeroPad1d(_ZeroPadNd, ConstantPad1d, spatial=1):
    """Padding of one dimension with zeros. See torch.nn.ZeroPad1d."""


class ZeroPad2d(_ZeroPadNd, ConstantPad2d, spatial=2):
    """Padding of two dimensions with zeros. See torch.nn.ZeroPad2d."""


class ZeroPad3d(_ZeroPadNd, ConstantPad3d, spatial=3):
    """Padding of three dimensions with zeros. See torch.nn.ZeroPad3d."""

del Spatial, _PadNd, _ZeroPadNd      # PyTorch's module does not have these names
