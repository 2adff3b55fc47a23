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
from jtorch._api.meshes import is_on_mesh as is_on_mesh
from jtorch.autograd.function import Function as Function
from jtorch.tensor import Tensor as Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

def cat(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return tensors joined along a dim they have. See torch.cat."""
def group_of(x: Tensor, process_group: Any) -> Any:
    """Return the process group that shares the batch ``x``; None for a single process, or if ``x`` is the whole batch."""
def normalized(x: Tensor, mean: Tensor, variance: Tensor, weight: Any, bias: Any, eps: builtins.float) -> Tensor:
    """Normalize a batch by the given statistics, and apply weight and bias."""
def statistics(x: Tensor, group: Any) -> builtins.tuple[Tensor, Tensor, builtins.int]:
    """Return each channel's mean and variance over all ranks' batches, and the number of elements."""
