"""Rearrangements of channels to pixels, and back. See torch.nn.PixelShuffle."""
from __future__ import annotations

from jtorch.nn import functional as F
from jtorch.nn.modules.module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]



class PixelShuffle(Module):
    """Rearranges channels into ``upscale_factor`` times as many rows and columns. See torch.nn.PixelShuffle.

    Shape: (..., C * r², H, W) to (..., C, H * r, W * r) for a factor r.
    Raises RuntimeError for fewer than three dimensions and where r² does not divide the channels. The layer is that of
    Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural
    Network", 2016.

    Args:
        upscale_factor (int): the factor by which the image grows.

    Example::

        >>> nn.PixelShuffle(2)(torch.arange(4.0).reshape(4, 1, 1))
        tensor([[[0., 1.],
                 [2., 3.]]])

    """

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor: int):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        """Return the rearranged input."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """The inverse of ``PixelShuffle``. See torch.nn.PixelUnshuffle.

    Shape: (..., C, H * r, W * r) to (..., C * r², H, W) for a factor r.
    Raises RuntimeError for fewer than three dimensions and where r does not divide height and width.

    Args:
        downscale_factor (int): the factor by which the image shrinks.

    Example::

        >>> nn.PixelUnshuffle(2)(torch.arange(4.0).reshape(1, 2, 2)).flatten()
        tensor([0., 1., 2., 3.])

    """

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor: int):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        """Return the rearranged input."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"downscale_factor={self.downscale_factor}"
