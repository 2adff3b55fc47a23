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
from typing import Any as Any

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

TYPE_CHECKING: builtins.bool
def amax(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, *, keepdim: builtins.bool = False, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the largest of the elements that ``mask`` shows. See torch.masked.amax."""
def amin(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, *, keepdim: builtins.bool = False, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the smallest of the elements that ``mask`` shows. See torch.masked.amin."""
def argmax(input: Tensor, dim: builtins.int | None = None, *, keepdim: builtins.bool = False, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the index of the largest element that ``mask`` shows, in the input's dtype. See torch.masked.argmax."""
def argmin(input: Tensor, dim: builtins.int | None = None, *, keepdim: builtins.bool = False, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the index of the smallest element that ``mask`` shows, in the input's dtype. See torch.masked.argmin."""
def cumprod(input: Tensor, dim: builtins.int, *, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the products so far of the elements that ``mask`` shows. See torch.masked.cumprod."""
def cumsum(input: Tensor, dim: builtins.int, *, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the sums so far of the elements that ``mask`` shows. See torch.masked.cumsum."""
def log_softmax(input: Tensor, dim: builtins.int, *, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return log_softmax of the elements that ``mask`` shows. See torch.masked.log_softmax."""
def logaddexp(input: Tensor, other: Tensor, *, dtype: _dtype | None = None, input_mask: Tensor | None = None, other_mask: Tensor | None = None) -> Tensor:
    """Return torch.logaddexp of the elements that the masks show. See torch.masked.logaddexp."""
def logsumexp(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, *, keepdim: builtins.bool = False, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the logarithm of the sum of exponentials of the elements that ``mask`` shows. See torch.masked.logsumexp."""
def mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, *, keepdim: builtins.bool = False, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the mean of the elements that ``mask`` shows; NaN where there is none. See torch.masked.mean."""
def median(input: Tensor, dim: builtins.int = -1, *, keepdim: builtins.bool = False, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the median of the elements that ``mask`` shows, or NaN if there are none. See torch.masked.median."""
def norm(input: Tensor, ord: builtins.float | None = 2.0, dim: builtins.int | Sequence[builtins.int] | None = None, *, keepdim: builtins.bool = False, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the vector norm of the elements that ``mask`` shows. See torch.masked.norm."""
def normalize(input: Tensor, ord: builtins.float, dim: builtins.int, *, eps: builtins.float = 1e-12, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the elements that ``mask`` shows, divided by their norm. See torch.masked.normalize."""
def prod(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, *, keepdim: builtins.bool = False, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the product of the elements that ``mask`` shows. See torch.masked.prod."""
def softmax(input: Tensor, dim: builtins.int, *, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return softmax of the elements that ``mask`` shows; 0 for the others. See torch.masked.softmax."""
def softmin(input: Tensor, dim: builtins.int, *, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return softmin of the elements that ``mask`` shows; 0 for the others. See torch.masked.softmin."""
def std(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, unbiased: builtins.bool | None = None, *, correction: builtins.float | None = None, keepdim: builtins.bool = False, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the standard deviation of the elements that ``mask`` shows. See torch.masked.std."""
def sum(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, *, keepdim: builtins.bool = False, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the sum of the elements that ``mask`` shows. See torch.masked.sum."""
def var(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, unbiased: builtins.bool | None = None, *, correction: builtins.float | None = None, keepdim: builtins.bool = False, dtype: _dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the variance of the elements that ``mask`` shows. See torch.masked.var."""
