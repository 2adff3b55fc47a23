"""Resampling layers. See torch.nn.Upsample."""
from __future__ import annotations

from typing import Any

from jtorch.nn import functional as F
from jtorch.nn.modules.module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]

Sizes = int | tuple[int, ...]
Ratios = float | tuple[float, ...]


class Upsample(Module):
    """Resamples the input to ``size`` or by ``scale_factor``. See torch.nn.Upsample.

    ``mode`` is ``"nearest"``, ``"linear"`` (one spatial dimension), ``"bilinear"`` or ``"bicubic"`` (two) or
    ``"trilinear"`` (three). With ``align_corners`` the corners of input and output are the same points. The module
    calls ``F.interpolate`` with these arguments and raises its errors.

    Shape: (N, C, L), (N, C, H, W) or (N, C, D, H, W), the sizes after the channels being ``size`` or
    ``floor(size * scale_factor)``.

    Args:
        size (int or tuple of ints): the result's size.
        scale_factor (float or tuple of floats): the factor of the last dims' sizes.
        mode (str): "nearest", "linear", "bilinear", "bicubic" or "trilinear".
        align_corners (bool or None): whether corner elements keep their values.
        recompute_scale_factor (bool or None): whether to compute the factor from the sizes.

    Example::

        >>> nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])

    """

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]

    def __init__(self, size: Sizes | None = None, scale_factor: Ratios | None = None, mode: str = "nearest",
                 align_corners: bool | None = None, recompute_scale_factor: bool | None = None):
        super().__init__()
        self.name, self.size, self.mode = type(self).__name__, size, mode
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(map(float, scale_factor))
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, input):
        """Return the resampled input."""
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
                             recompute_scale_factor=self.recompute_scale_factor)

    def extra_repr(self) -> str:
        """Return the size or the factor, and the mode."""
        what = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """``Upsample`` of (N, C, H, W) by repetition, under its old name. See torch.nn.UpsamplingNearest2d.

    Shape: (N, C, H, W) to (N, C, *size).

    Args:
        size (int or tuple of ints): the result's size.
        scale_factor (float or tuple of floats): the factor of the last dims' sizes.

    Example::

        >>> nn.UpsamplingNearest2d(scale_factor=2)(torch.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])

    """

    def __init__(self, size: Sizes | None = None, scale_factor: Ratios | None = None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """``Upsample`` of (N, C, H, W) by interpolation with aligned corners. See torch.nn.UpsamplingBilinear2d.

    Shape: (N, C, H, W) to (N, C, *size).

    Args:
        size (int or tuple of ints): the result's size.
        scale_factor (float or tuple of floats): the factor of the last dims' sizes.

    Example::

        >>> nn.UpsamplingBilinear2d(size=3)(torch.tensor([[[[0.0, 2.0], [2.0, 4.0]]]]))[0, 0, 1]
        tensor([1., 2., 3.])

    """

    def __init__(self, size: Sizes | None = None, scale_factor: Ratios | None = None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
