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
from jtorch._api.declared import dataclass as dataclass
from jtorch._api.torch_function import Iterable as Iterable
from jtorch._base.pytree import tree_map as tree_map
from jtorch._parallel.create import distribute_tensor as distribute_tensor
from jtorch._parallel.dtensor import DTensor as DTensor
from jtorch._parallel.full_tensor import full_tensor as full_tensor
from jtorch.dtype import dtype as dtype
from jtorch.nn.modules.module import Module as Module
from jtorch.no_grad import no_grad as no_grad
from jtorch.tensor import Tensor as Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

StateDictOptions: Any
@overload
def empty(*size: builtins.int, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
@overload
def empty(size: Sequence[builtins.int], *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Return an uninitialized tensor; here it holds zeros. See torch.empty."""
def get_model_state_dict(model: Any, *, submodules: builtins.set | None = None, options: Any = None) -> builtins.dict[builtins.str, Any]:
    """Return a model's state dict. See torch.distributed.checkpoint.state_dict.get_model_state_dict."""
def get_optimizer_state_dict(model: Any, optimizers: Any, *, submodules: builtins.set | None = None, options: Any = None) -> builtins.dict[builtins.str, Any]:
    """Return the state dict of optimizers. See torch.distributed.checkpoint.state_dict.get_optimizer_state_dict."""
def get_state_dict(model: Any, optimizers: Any, *, submodules: builtins.set | None = None, options: Any = None) -> builtins.tuple[builtins.dict[builtins.str, Any], builtins.dict[builtins.str, Any]]:
    """Return the state dicts of a model and of its optimizers. See torch.distributed.checkpoint.state_dict.get_state_dict."""
def set_model_state_dict(model: Any, model_state_dict: builtins.dict[builtins.str, Any], *, options: Any = None) -> Any:
    """Load a model's state dict. See torch.distributed.checkpoint.state_dict.set_model_state_dict."""
def set_optimizer_state_dict(model: Any, optimizers: Any, optim_state_dict: builtins.dict[builtins.str, Any], *, options: Any = None) -> None:
    """Load the state dict of optimizers. See torch.distributed.checkpoint.state_dict.set_optimizer_state_dict."""
def set_state_dict(model: Any, optimizers: Any, *, model_state_dict: builtins.dict[builtins.str, Any], optim_state_dict: builtins.dict[builtins.str, Any], options: Any = None) -> Any:
    """Load the state dicts of a model and its optimizers. See torch.distributed.checkpoint.state_dict.set_state_dict."""
def zeros_like(input: Tensor, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Return zeros in the shape of another tensor. See torch.zeros_like."""
