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
from jtorch._parallel.dtensor import DTensor as DTensor
from jtorch._parallel.dtensor import local_of as local_of
from jtorch._parallel.dtensor import wrapped as wrapped
from jtorch._parallel.fsdp.policies import MixedPrecisionPolicy as MixedPrecisionPolicy
from jtorch._parallel.layout import Layout as Layout
from jtorch._parallel.layout import contiguous_stride as contiguous_stride
from jtorch._parallel.placements import Replicate as Replicate
from jtorch._parallel.placements import Shard as Shard
from jtorch._parallel.placements import part as part
from jtorch.autograd.function import Function as Function
from jtorch.distributed.device_mesh import DeviceMesh as DeviceMesh
from jtorch.nn.modules.module import Module as Module
from jtorch.no_grad import no_grad as no_grad
from jtorch.tensor import Parameter as Parameter
from jtorch.tensor import Tensor as Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

Gathered: Any
ParameterGroup: Any
ShardedParameter: Any
def cat(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return tensors joined along a dim they have. See torch.cat."""
def local_shard(x: Tensor, dim: builtins.int, group: Any) -> Tensor:
    """Return this rank's shard along ``dim`` of a tensor that all ranks have."""
@overload
def zeros(*size: builtins.int, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor: ...
@overload
def zeros(size: Sequence[builtins.int], *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a tensor of zeros. See torch.zeros."""
