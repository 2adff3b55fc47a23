"""Conversions of images to columns of sliding blocks, and back. See torch.nn.Unfold."""
from __future__ import annotations

from jtorch.nn import functional as F
from jtorch.nn.modules.module import Module

__all__ = ["Fold", "Unfold"]

Sizes = int | tuple[int, ...]


class Unfold(Module):
    """Extracts the sliding blocks of an image as columns. See torch.nn.Unfold.

    The sizes are like a convolution's: an int, or one for rows and one for columns.

    Shape: (N, C, H, W) or (C, H, W) to (N, C * kernel height * kernel width, L) or without the N, where L is the number of
    blocks, the product of ``(size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1`` over both dimensions.
    Raises RuntimeError for another number of dimensions and for an image smaller than a block.

    Args:
        kernel_size (int or tuple of ints): the size of a window in each dim.
        dilation (int or tuple of ints): the step from one element of a window to the next.
        padding (int or tuple of ints): elements added at both ends of each dimension.
        stride (int or tuple of ints): the step from one window to the next.

    Example::

        >>> nn.Unfold(2)(torch.arange(6.0).reshape(1, 1, 2, 3))
        tensor([[[0., 1.],
                 [1., 2.],
                 [3., 4.],
                 [4., 5.]]])

    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1):
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input):
        """Return the columns."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Sums columns of blocks into images: the transpose of ``Unfold``. See torch.nn.Fold.

    ``output_size`` is the size of the image. The other sizes are those of ``Unfold``.

    Shape: (N, C * kernel height * kernel width, L) or without the N to (N, C, *output_size) or without the N.
    Raises RuntimeError where the numbers of rows and columns do not fit the sizes.

    Args:
        output_size (int or tuple of ints): the size of the result's last dims.
        kernel_size (int or tuple of ints): the size of a window in each dim.
        dilation (int or tuple of ints): the step from one element of a window to the next.
        padding (int or tuple of ints): elements added at both ends of each dimension.
        stride (int or tuple of ints): the step from one window to the next.

    Example::

        >>> nn.Fold((1, 3), (1, 2))(torch.ones(1, 2, 2))
        tensor([[[[1., 2., 1.]]]])

    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(self, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1):
        super().__init__()
        self.output_size = output_size
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input):
        """Return the images."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return (f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
                f"padding={self.padding}, stride={self.stride}")
