# Written by tools/stubs.py from the op records: change those, then run `python -m tools.stubs`.
# mypy: disable-error-code="override, misc, overload-overlap, overload-cannot-match"
# pyright: reportIncompatibleMethodOverride=false, reportOverlappingOverload=false
import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, overload

import numpy as _np

from jtorch.device import device as _device
from jtorch.dtype import dtype as _dtype
from jtorch._base.generator import Generator as _Generator
from jtorch._base.size import Size as _Size
from jtorch.tensor import Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

def fft(input: Tensor, n: builtins.int | None = None, dim: builtins.int = -1, norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the discrete Fourier transform along one dimension. See torch.fft.fft."""
def fft2(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the transform along two dimensions. See torch.fft.fft2."""
def fftfreq(n: builtins.int, d: builtins.float = 1.0, *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return the frequencies of fft's coefficients. See torch.fft.fftfreq."""
def fftn(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the transform along several dimensions. See torch.fft.fftn."""
def fftshift(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
    """Return the coefficient of frequency 0 moved to the middle. See torch.fft.fftshift."""
def hfft(input: Tensor, n: builtins.int | None = None, dim: builtins.int = -1, norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the real transform of half a Hermitian signal. See torch.fft.hfft."""
def hfft2(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the real transform of half a Hermitian signal along two dimensions. See torch.fft.hfft2."""
def hfftn(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the real transform of half a Hermitian signal along several dimensions. See torch.fft.hfftn."""
def ifft(input: Tensor, n: builtins.int | None = None, dim: builtins.int = -1, norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of fft. See torch.fft.ifft."""
def ifft2(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of fft2. See torch.fft.ifft2."""
def ifftn(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of fftn. See torch.fft.ifftn."""
def ifftshift(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
    """Return the inverse of fftshift. See torch.fft.ifftshift."""
def ihfft(input: Tensor, n: builtins.int | None = None, dim: builtins.int = -1, norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of hfft. See torch.fft.ihfft."""
def ihfft2(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of hfft2. See torch.fft.ihfft2."""
def ihfftn(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of hfftn. See torch.fft.ihfftn."""
def irfft(input: Tensor, n: builtins.int | None = None, dim: builtins.int = -1, norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of rfft. See torch.fft.irfft."""
def irfft2(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of rfft2. See torch.fft.irfft2."""
def irfftn(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of rfftn. See torch.fft.irfftn."""
def rfft(input: Tensor, n: builtins.int | None = None, dim: builtins.int = -1, norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the first half of a real input's transform. See torch.fft.rfft."""
def rfft2(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = ..., norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the first half of a real input's transform along two dimensions. See torch.fft.rfft2."""
def rfftfreq(n: builtins.int, d: builtins.float = 1.0, *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return the frequencies of rfft's coefficients. See torch.fft.rfftfreq."""
def rfftn(input: Tensor, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: builtins.str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the first half of a real input's transform along several dimensions. See torch.fft.rfftn."""
