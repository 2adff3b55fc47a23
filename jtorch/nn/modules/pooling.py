"""Pooling layers. See https://docs.pytorch.org/docs/stable/nn.html#pooling-layers."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jtorch.nn import functional as F
from jtorch.nn.modules._make import ntuple
from jtorch.nn.modules._spatial import Spatial
from jtorch.tensor import Tensor

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d",
    "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]

Sizes = int | tuple[int, ...]


class _Pool(Spatial):
    """The base of pooling modules: it calls the function of its family and dims, such as ``F.max_pool2d``."""

    _family = ""
    _shown: tuple[str, ...] = ("kernel_size", "stride", "padding")

    def _function(self) -> Any:
        return getattr(F, f"{self._family}{self._spatial}d")

    def extra_repr(self) -> str:
        """Return the options."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)


class _MaxPoolNd(_Pool):
    """The largest element of each window; windows start ``stride`` apart (``kernel_size`` if it is None).

    ``padding`` adds minus infinity at both ends, at most half a window. ``dilation`` is the distance between neighbours
    in a window. ``ceil_mode`` keeps a last window that extends past the end. With ``return_indices`` the result is
    (values, indices into the flattened dimensions), which ``MaxUnpool{n}d`` takes.

    Shape: (N, C, {size}) or (C, {size}) to
    ``(size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1`` per dimension.

    Args:
        kernel_size (int or tuple of ints): the size of a window in each dim.
        stride (int or tuple of ints): the step from one window to the next.
        padding (int or tuple of ints): elements added at both ends of each dimension.
        dilation (int or tuple of ints): the step from one element of a window to the next.
        return_indices (bool): returns the places of the values too.
        ceil_mode (bool): whether to round the result's size up.

    Example::

        >>> pool = nn.{name}(2)
        >>> pool(torch.randn(1, 3, {x8})).shape
        torch.Size([1, 3, {x4}])

    """

    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    _family = "max_pool"
    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
                 return_indices: bool = False, ceil_mode: bool = False):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input):
        """Return the largest of each window."""
        return self._function()(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
                                return_indices=self.return_indices)


class MaxPool1d(_MaxPoolNd, spatial=1):
    """Maxima of windows over one dimension. See torch.nn.MaxPool1d."""


class MaxPool2d(_MaxPoolNd, spatial=2):
    """Maxima of windows over two dimensions. See torch.nn.MaxPool2d."""


class MaxPool3d(_MaxPoolNd, spatial=3):
    """Maxima of windows over three dimensions. See torch.nn.MaxPool3d."""


class _MaxUnpoolNd(_Pool):
    """Puts maxima back to the indices that ``MaxPool{n}d(..., return_indices=True)`` returned, with zeros elsewhere.

    Several input sizes of the pooling have the same output size. ``output_size`` in the call selects one of them.

    Shape: (N, C, {size}) or (C, {size}) to ``(size - 1) * stride - 2 * padding + kernel_size`` per dimension.
    Raises ValueError for an output size that is out of reach, RuntimeError for an index outside of it.

    Args:
        kernel_size (int or tuple of ints): the size of a window in each dim.
        stride (int or tuple of ints): the step from one window to the next.
        padding (int or tuple of ints): elements added at both ends of each dimension.

    Example::

        >>> pool, unpool = nn.MaxPool{n}d(2, return_indices=True), nn.{name}(2)
        >>> unpool(*pool(torch.randn(1, 3, {x8}))).shape
        torch.Size([1, 3, {x8}])

    """

    _family = "max_unpool"

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0):
        super().__init__()
        n = self._spatial
        self.kernel_size, self.padding = ntuple(kernel_size, n), ntuple(padding, n)
        self.stride = ntuple(kernel_size if stride is None else stride, n)

    def forward(self, input, indices, output_size: Sequence[int] | None = None):
        """Return the input's elements at the given indices, and zeros elsewhere."""
        return self._function()(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd, spatial=1):
    """The inverse of MaxPool1d, as far as it exists. See torch.nn.MaxUnpool1d."""


class MaxUnpool2d(_MaxUnpoolNd, spatial=2):
    """The inverse of MaxPool2d, as far as it exists. See torch.nn.MaxUnpool2d."""


class MaxUnpool3d(_MaxUnpoolNd, spatial=3):
    """The inverse of MaxPool3d, as far as it exists. See torch.nn.MaxUnpool3d."""


class _AvgPoolNd(_Pool):
    """The mean of each window; windows start ``stride`` apart (``kernel_size`` if it is None).

    ``padding`` adds zeros at both ends, at most half a window. They count as elements unless ``count_include_pad`` is
    False. ``ceil_mode`` keeps a last window that extends past the end. ``divisor_override`` (not in one dimension)
    replaces the number of elements as divisor.

    Shape: (N, C, {size}) or (C, {size}) to ``(size + 2 * padding - kernel_size) // stride + 1`` per dimension.

    Args:
        kernel_size (int or tuple of ints): the size of a window in each dim.
        stride (int or tuple of ints): the step from one window to the next.
        padding (int or tuple of ints): elements added at both ends of each dimension.
        ceil_mode (bool): whether to round the result's size up.
        count_include_pad (bool): whether means count the added zeros.

    Example::

        >>> pool = nn.{name}(2)
        >>> pool(torch.randn(1, 3, {x8})).shape
        torch.Size([1, 3, {x4}])

    """

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]
    _family = "avg_pool"

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input):
        """Return the mean of each window."""
        return self._function()(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                                self.divisor_override)


class AvgPool1d(_AvgPoolNd, spatial=1):
    """Means of windows over one dimension. See torch.nn.AvgPool1d."""

    __constants__ = _AvgPoolNd.__constants__[:-1]

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        del self.divisor_override
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, ntuple(getattr(self, name), 1))

    def forward(self, input):
        """Return the mean of each window."""
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd, spatial=2):
    """Means of windows over two dimensions. See torch.nn.AvgPool2d."""


class AvgPool3d(_AvgPoolNd, spatial=3):
    """Means of windows over three dimensions. See torch.nn.AvgPool3d."""


class _FractionalMaxPoolNd(Spatial):
    """The largest element of each window, with windows at random places (Graham, "Fractional Max-Pooling", 2014).

    The output has ``output_size`` elements per dimension, or ``output_ratio`` (between 0 and 1) times the input's.
    Exactly one of them is required. ``return_indices`` is that of ``MaxPool{n}d``. Each call draws new windows for each
    sample and channel, or takes ``_random_samples`` (N, C, {n}), numbers from 0 to 1.

    Shape: (N, C, {size}) or (C, {size}) to the output size.
    Raises ValueError for ratios that are not between 0 and 1 and where not exactly one of size and ratio is given.

    Args:
        kernel_size (int or tuple of ints): the size of a window in each dim.
        output_size (int or tuple of ints): the size of the result's last dims.
        output_ratio (float or tuple of floats): the ratio of the result's size to the input's, instead of ``output_size``.
        return_indices (bool): returns the places of the values too.
        _random_samples (Tensor or None): numbers from 0 to 1 that choose the windows.

    Example::

        >>> pool = nn.{name}(2, output_size=4)
        >>> pool(torch.randn(1, 3, {x8})).shape
        torch.Size([1, 3, {x4}])

    """

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    def __init__(self, kernel_size: Sizes, output_size: Sizes | None = None,
                 output_ratio: float | tuple[float, ...] | None = None, return_indices: bool = False,
                 _random_samples: Tensor | None = None):
        super().__init__()
        n, name = self._spatial, type(self).__name__
        self.kernel_size, self.return_indices = ntuple(kernel_size, n), return_indices
        if n == 3 and min(self.kernel_size) <= 0:
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.register_buffer("_random_samples", _random_samples)
        self.output_size, self.output_ratio = (None if v is None else ntuple(v, n) for v in (output_size, output_ratio))
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input):
        """Return the largest of each window."""
        return getattr(F, f"fractional_max_pool{self._spatial}d")(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            _random_samples=self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPoolNd, spatial=2):
    """Maxima of windows at random places over two dimensions. See torch.nn.FractionalMaxPool2d."""


class FractionalMaxPool3d(_FractionalMaxPoolNd, spatial=3):
    """Maxima of windows at random places over three dimensions. See torch.nn.FractionalMaxPool3d."""


class _LPPoolNd(_Pool):
    """The ``norm_type``-norm of each window; windows start ``stride`` apart (``kernel_size`` if it is None).

    ``norm_type`` 1 gives sums of the elements, not of their absolute values. Infinity gives the maximum absolute value.
    ``ceil_mode`` keeps a last window that extends past the end.

    Shape: (N, C, {size}) or (C, {size}) to ``(size - kernel_size) // stride + 1`` per dimension.

    Args:
        norm_type (float): the p of the p-norm.
        kernel_size (int or tuple of ints): the size of a window in each dim.
        stride (int or tuple of ints): the step from one window to the next.
        ceil_mode (bool): whether to round the result's size up.

    Example::

        >>> pool = nn.{name}(2, 2)
        >>> pool(torch.randn(1, 3, {x8})).shape
        torch.Size([1, 3, {x4}])

    """

    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    _family = "lp_pool"
    _shown = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input):
        """Return the norm of each window."""
        return self._function()(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPoolNd, spatial=1):
    """Norms of windows over one dimension. See torch.nn.LPPool1d."""


class LPPool2d(_LPPoolNd, spatial=2):
    """Norms of windows over two dimensions. See torch.nn.LPPool2d."""


class LPPool3d(_LPPoolNd, spatial=3):
    """Norms of windows over three dimensions. See torch.nn.LPPool3d."""


class _AdaptiveMaxPoolNd(_Pool):
    """The largest element of each of ``output_size`` parts of the input, which are as equal as can be.

    ``output_size`` is one int or one per dimension; None keeps the input's size. With ``return_indices`` the result is
    (values, indices into the flattened dimensions).

    Shape: (N, C, {size}) or (C, {size}) to the output size.

    Args:
        output_size (int or tuple of ints): the size of the result's last dims.
        return_indices (bool): returns the places of the values too.

    Example::

        >>> pool = nn.{name}(4)
        >>> pool(torch.randn(1, 3, {x9})).shape
        torch.Size([1, 3, {x4}])

    """

    __constants__ = ["output_size", "return_indices"]
    _family = "adaptive_max_pool"
    _shown = ("output_size",)

    def __init__(self, output_size: Any, return_indices: bool = False):
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input):
        """Return the largest of each part."""
        return self._function()(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, spatial=1):
    """Maxima of parts of one dimension. See torch.nn.AdaptiveMaxPool1d."""


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, spatial=2):
    """Maxima of parts of two dimensions. See torch.nn.AdaptiveMaxPool2d."""


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, spatial=3):
    """Maxima of parts of three dimensions. See torch.nn.AdaptiveMaxPool3d."""


class _AdaptiveAvgPoolNd(_Pool):
    """The mean of each of ``output_size`` parts of the input, which are as equal as can be.

    ``output_size`` is one int or one per dimension; None keeps the input's size.

    Shape: (N, C, {size}) or (C, {size}) to the output size.

    Args:
        output_size (int or tuple of ints): the size of the result's last dims.

    Example::

        >>> pool = nn.{name}(4)
        >>> pool(torch.randn(1, 3, {x9})).shape
        torch.Size([1, 3, {x4}])

    """

    __constants__ = ["output_size"]
    _family = "adaptive_avg_pool"
    _shown = ("output_size",)

    def __init__(self, output_size: Any):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        """Return the mean of each part."""
        return self._function()(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd, spatial=1):
    """Means of parts of one dimension. See torch.nn.AdaptiveAvgPool1d."""


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd, spatial=2):
    """Means of parts of two dimensions. See torch.nn.AdaptiveAvgPool2d."""


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd, spatial=3):
    """Means of parts of three dimensions. See torch.nn.AdaptiveAvgPool3d."""

del Spatial, _Pool, _FractionalMaxPoolNd      # PyTorch's module does not have these names
