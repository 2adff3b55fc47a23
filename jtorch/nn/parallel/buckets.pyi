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
from jtorch.distributed.averaging import BucketAverager as BucketAverager
from jtorch.tensor import Tensor as Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

FIRST_MB: builtins.float
GradBucket: Any
def buckets_of(params: Sequence[Tensor], cap_mb: builtins.float, first_mb: builtins.float = 1.0) -> builtins.list[Any]:
    """Group parameters into buckets of one dtype and limited size, in reverse order as backward computes gradients."""
def flattened(tensors: Sequence[Tensor]) -> Tensor:
    """Return all elements of all tensors in one flat tensor."""
def unflattened(flat: Tensor, like: Sequence[Tensor]) -> builtins.list[Tensor]:
    """Return views of parts of a flat tensor in the shapes of ``like``."""
def zeros_like(input: Tensor, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Return zeros in the shape of another tensor. See torch.zeros_like."""
