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
from jtorch._parallel.layout import local_part as local_part
from jtorch._parallel.layout import order as order
from jtorch._parallel.placements import Partial as Partial
from jtorch._parallel.placements import Replicate as Replicate
from jtorch._parallel.placements import Shard as Shard
from jtorch._parallel.placements import part as part
from jtorch.autograd.function import Function as Function
from jtorch.distributed.device_mesh import DeviceMesh as DeviceMesh
from jtorch.no_grad import no_grad as no_grad
from jtorch.tensor import Tensor as Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

Placements: Any
def broadcast_from_first(local: Tensor, mesh: Any, placements: Any) -> Tensor:
    """Replace the shards by the first rank's along replicated mesh dimensions."""
def cat(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return tensors joined along a dim they have. See torch.cat."""
def enter(x: Tensor, mesh: Any, dims: Sequence[builtins.int]) -> Tensor:
    """Mark a replicated tensor as used on each rank's shard, so that its gradient is summed over the mesh dimensions ``dims``."""
def exchanged(x: Tensor, gather_dim: builtins.int, split_dim: builtins.int, size: builtins.int, group: Any) -> Tensor:
    """Turn shards along ``gather_dim`` into shards along ``split_dim``; the whole tensor has ``size`` elements along ``gather_dim``."""
def gathered(x: Tensor, dim: builtins.int, size: builtins.int, group: Any) -> Tensor:
    """Concatenate the shards of all ranks along ``dim``, which has ``size`` elements in the whole tensor."""
def local_shard(x: Tensor, dim: builtins.int, group: Any) -> Tensor:
    """Return this rank's shard along ``dim`` of a tensor that all ranks have."""
def redistribute(x: Tensor, mesh: Any, shape: Sequence[builtins.int], now: Any, wanted: Any) -> Tensor:
    """Return this rank's shard for the placements ``wanted`` of a tensor with this ``shape`` and the placements ``now``."""
def redistribute_without_gradient(x: Tensor, *args: Any) -> Tensor:
    """Redistribute without recording a gradient."""
def reduced(x: Tensor, op: builtins.str, group: Any) -> Tensor:
    """Return the reduction over ranks."""
def reduced_part(x: Tensor, dim: builtins.int, op: builtins.str, group: Any) -> Tensor:
    """Return this rank's shard along ``dim`` of the reduction over ranks."""
def reduced_with_gradient(x: Tensor, op: builtins.str, group: Any) -> Tensor:
    """Return the reduction over ranks; the gradient of each term is that of the reduction."""
def with_gradient_placed(x: Tensor, bring: Callable[..., Any]) -> Tensor:
    """Return the same tensor; its gradient passes through ``bring``."""
@overload
def zeros(*size: builtins.int, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor: ...
@overload
def zeros(size: Sequence[builtins.int], *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a tensor of zeros. See torch.zeros."""
