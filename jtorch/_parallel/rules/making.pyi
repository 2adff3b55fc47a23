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
from jtorch._api.torch_function import switched_off as switched_off
from jtorch._parallel.dtensor import DTensor as DTensor
from jtorch._parallel.dtensor import local_of as local_of
from jtorch._parallel.dtensor import moved as moved
from jtorch._parallel.dtensor import wrapped as wrapped
from jtorch._parallel.layout import Layout as Layout
from jtorch._parallel.layout import contiguous_stride as contiguous_stride
from jtorch._parallel.layout import of_gradient as of_gradient
from jtorch._parallel.placements import Partial as Partial
from jtorch._parallel.placements import Replicate as Replicate
from jtorch._parallel.rules.arguments import argument as argument
from jtorch._parallel.rules.arguments import handler as handler
from jtorch.no_grad import no_grad as no_grad
from jtorch.tensor import Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

def draw(func: Any, args: builtins.tuple, kwargs: builtins.dict) -> Any:
    """Fill each rank's shard with random numbers, in place."""
def draw_like(func: Any, args: builtins.tuple, kwargs: builtins.dict) -> Any:
    """Return a tensor of random numbers with the argument's shape."""
def dropout(func: Any, args: builtins.tuple, kwargs: builtins.dict) -> Any:
    """Drop elements of each rank's shard."""
@overload
def empty(*size: builtins.int, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
@overload
def empty(size: Sequence[builtins.int], *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Return an uninitialized tensor; here it holds zeros. See torch.empty."""
def fill_whole(func: Any, args: builtins.tuple, kwargs: builtins.dict) -> Any:
    """Fill a DTensor by a function of ``nn.init`` whose elements depend on each other; the first rank's numbers are used."""
def new(func: Any, args: builtins.tuple, kwargs: builtins.dict) -> Any:
    """Return a replicated tensor, or one with the argument's placements if it has the argument's shape."""
def on_all(made: Any, mesh: Any, shape: Sequence[builtins.int]) -> Any:
    """Wrap a tensor that all ranks have as a replicated DTensor."""
def part_of(full: Any, spec: Any) -> Any:
    """Return this rank's shard of a tensor that all ranks have."""
def redistribute_without_gradient(x: Tensor, *args: Any) -> Tensor:
    """Redistribute without recording a gradient."""
