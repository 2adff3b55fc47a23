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
from jtorch.autograd.function import Function as Function
from jtorch.distributed.reductions import ReduceOp as ReduceOp
from jtorch.tensor import Tensor as Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

def all_gather(tensor: Tensor, group: Any = None) -> builtins.tuple[Tensor, ...]:
    """Return the tensors of all ranks. See torch.distributed.nn.functional.all_gather."""
def all_reduce(tensor: Tensor, op: Any = ..., group: Any = None) -> Tensor:
    """Return the reduction over all ranks. See torch.distributed.nn.functional.all_reduce."""
def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None) -> builtins.tuple[Tensor, ...]:
    """Return the tensors that all ranks have for this rank. See torch.distributed.nn.functional.all_to_all."""
def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: Sequence[builtins.int] | None = None, input_split_sizes: Sequence[builtins.int] | None = None, group: Any = None) -> Tensor:
    """Return the parts of all ranks' tensors for this rank, concatenated. See torch.distributed.nn.functional.all_to_all_single."""
def broadcast(tensor: Tensor, src: builtins.int, group: Any = None) -> Tensor:
    """Return the tensor of rank ``src``. See torch.distributed.nn.functional.broadcast."""
def gather(tensor: Tensor, dst: builtins.int = 0, group: Any = None) -> builtins.tuple[Tensor, ...]:
    """Return the tensors of all ranks on rank ``dst``, and zeros on the others. See torch.distributed.nn.functional.gather."""
def reduce(tensor: Tensor, dst: builtins.int, op: Any = ..., group: Any = None) -> Tensor:
    """Return the reduction over all ranks, on rank ``dst``. See torch.distributed.nn.functional.reduce."""
def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: Any = ..., group: Any = None) -> Tensor:
    """Return the reduction of all ranks' lists at this rank's place. See torch.distributed.nn.functional.reduce_scatter."""
def scatter(tensors: Sequence[Tensor], src: builtins.int = 0, group: Any = None) -> Tensor:
    """Return this rank's tensor of rank ``src``'s list. See torch.distributed.nn.functional.scatter."""
def stack(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return tensors of one shape joined along a new dim. See torch.stack."""
def zeros_like(input: Tensor, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Return zeros in the shape of another tensor. See torch.zeros_like."""
