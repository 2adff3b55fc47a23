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
from jtorch._C import Any as Any
from jtorch._api.checks import Callable as Callable
from jtorch._api.creation import tensor as _aliased_tensor
from jtorch.autograd.variable import Variable as Variable
from jtorch.distributed.arrays import put as put
from jtorch.distributed.arrays import tensor_of as tensor_of
from jtorch.distributed.errors import DistBackendError as DistBackendError
from jtorch.distributed.work import Work as Work
from jtorch.nn.parallel.report import Report as Report
from jtorch.no_grad import no_grad as no_grad
from jtorch.tensor import Tensor as Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

Averaging: Any
GRAPH_HAS_CHANGED: builtins.str
GradBucket: Any
as_tensor = _aliased_tensor
def buckets_of(params: Sequence[Tensor], cap_mb: builtins.float, first_mb: builtins.float = 1.0) -> builtins.list[Any]:
    """Group parameters into buckets of one dtype and limited size, in reverse order as backward computes gradients."""
def unflattened(flat: Tensor, like: Sequence[Tensor]) -> builtins.list[Tensor]:
    """Return views of parts of a flat tensor in the shapes of ``like``."""
@overload
def zeros(*size: builtins.int, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor: ...
@overload
def zeros(size: Sequence[builtins.int], *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a tensor of zeros. See torch.zeros."""
