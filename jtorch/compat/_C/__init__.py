"""torch._C: the names of PyTorch's compiled part that Python code uses."""
from __future__ import annotations

import sys as _sys
import weakref as _weakref
from types import ModuleType as _ModuleType
from typing import Any

from jtorch import __config__ as _config
from jtorch._api import torch_function as _protocol
from jtorch._base import jax_private as _jax_private
from jtorch._base.deterministic import Deterministic as _Deterministic
from jtorch._base.deterministic import set_fills as _set_fills
from jtorch._base.generator import Generator as Generator
from jtorch._base.refused import refused as _refused
from jtorch._base.size import Size as Size
from jtorch._C import _autograd as _autograd
from jtorch._C import _cpu as _cpu
from jtorch._C import _distributed_c10d as _distributed_c10d
from jtorch._C import _distributed_rpc as _distributed_rpc
from jtorch._C import _functions as _functions
from jtorch._C import _functorch as _functorch
from jtorch._C import _nn as _nn
from jtorch._C import _profiler as _profiler
from jtorch._C import graphs as _graphs
from jtorch._C.graphs import Block as Block
from jtorch._C.graphs import CompilationUnit as CompilationUnit
from jtorch._C.graphs import PyTorchFileReader as PyTorchFileReader
from jtorch._C.graphs import PyTorchFileWriter as PyTorchFileWriter
from jtorch._C.graphs import ScriptFunction as ScriptFunction
from jtorch._C.graphs import ScriptMethod as ScriptMethod
from jtorch._C.graphs import ScriptModule as ScriptModule
from jtorch._C.graphs import ScriptObject as ScriptObject
from jtorch._library.dispatch_keys import AutoDispatchBelowAutograd as _AutoDispatchBelowAutograd  # noqa: F401
from jtorch._library.dispatch_keys import DispatchKey as DispatchKey
from jtorch._library.dispatch_keys import DispatchKeySet as DispatchKeySet
from jtorch._library.dispatch_keys import ExcludeDispatchKeyGuard as _ExcludeDispatchKeyGuard  # noqa: F401
from jtorch._library.schema import FunctionSchema as FunctionSchema
from jtorch._library.schema import parse_schema as parse_schema
from jtorch._storage.untyped import UntypedStorage
from jtorch.backends import cudnn as _cudnn
from jtorch.device import accelerator_type as _accelerator_type
from jtorch.device import device as device
from jtorch.device import get_default_device as _default_device
from jtorch.dtype import dtype as dtype
from jtorch.engine.batched import is_running as _a_vmap_is_running
from jtorch.futures import Future as Future
from jtorch.jit import _tracer as _tracer
from jtorch.jit._graph import Graph as Graph
from jtorch.jit._graph import Node as Node
from jtorch.jit._graph import Value as Value
from jtorch.no_grad import mode as _mode
from jtorch.ops.linalg import LinAlgError as _LinAlgError  # noqa: F401 (PyTorch's name)
from jtorch.tape import running as _running
from jtorch.tensor import Tensor

globals().update({name: getattr(_graphs, name) for name in _graphs.TYPES})
_TensorMeta: Any = type(Tensor)
TensorBase, StorageBase = Tensor, UntypedStorage


_disabled_torch_function_impl: Any = classmethod(_protocol.disabled)


def DisableTorchFunctionSubclass() -> Any:
    """Return a block in which no class's ``__torch_function__`` is called."""
    return _protocol.switched_off()


def DisableTorchFunction() -> Any:
    """Return a block in which no class's or mode's ``__torch_function__`` is called."""
    return _protocol.switched_off(modes=True)


def _dispatch_modes() -> Any:
    from jtorch._aten import stack
    return stack


def _DisableTorchDispatch() -> Any:
    """Return a block in which no class's or mode's ``__torch_dispatch__`` is called."""
    return _dispatch_modes().switched_off()


def _disabled_torch_dispatch_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call the operator without ``__torch_dispatch__`` of classes and modes."""
    with _DisableTorchDispatch():
        return func(*args, **(kwargs or {}))


def _len_torch_dispatch_stack() -> int:
    return len(_dispatch_modes().state.modes)


def _get_dispatch_stack_at(i: int) -> Any:
    return _dispatch_modes().state.modes[i]


def _push_on_torch_dispatch_stack(mode: Any) -> None:
    _dispatch_modes().push(mode)


def _pop_torch_dispatch_stack(mode_key: Any = None) -> Any:
    return _dispatch_modes().pop()


def _is_torch_function_enabled() -> bool:
    return not _protocol.state.subclasses_off


def _is_torch_function_mode_enabled() -> bool:
    return bool(_protocol.state.modes) and not _protocol.state.all_off


def _get_tracing_state() -> Any:
    """Return the tracer that records a graph in this thread, or None."""
    return _tracer.active.tracer


def _is_tracing() -> bool:
    """Return whether a graph of operators is being recorded in this thread."""
    return _tracer.active.tracer is not None


def _set_tracing_state(state: None) -> None:
    """Accept None; raise NotImplementedError for another state."""
    if state is not None:
        raise NotImplementedError("torch._C._set_tracing_state is not built: nothing traces a TorchScript program here")


def _show_config() -> str:
    """Return the text of the build configuration."""
    return _config.show()


def _get_cudnn_enabled() -> bool:
    """Return ``torch.backends.cudnn.enabled``."""
    return _cudnn.enabled      # type: ignore[attr-defined]


def _get_sdp_priority_order() -> list[int]:
    """Return the order in which PyTorch tries attention kernels. XLA ignores it."""
    return [1, 2, 0, 3, 4]


def _log_api_usage_once(event: str) -> None:
    """Do nothing: API usage is not logged."""


def _are_functorch_transforms_active() -> bool:
    """Return whether the caller runs inside ``vmap`` or a derivative of ``torch.func``."""
    return _mode.transformed or _a_vmap_is_running() or _jax_private.is_tracing()


def _get_accelerator(check: bool | None = None) -> device:
    """Return the accelerator; the CPU if there is none."""
    found = _accelerator_type()
    return device("cpu" if found is None else found)


def _get_privateuse1_backend_name() -> str:
    """Return the name of the backend for custom devices, which cannot be registered."""
    return "privateuseone"


def _get_default_device() -> str:
    """Return the type of the default device."""
    return _default_device().type


def _is_alias_of(first: Tensor, second: Tensor) -> bool:
    """Return whether two tensors share memory."""
    return first._storage is second._storage


def _nothing(*args: Any) -> None:
    """Do nothing: jtorch has neither TorchScript's compiler nor cuBLAS workspaces, and XLA chooses how to compute attention."""


_jit_set_texpr_fuser_enabled = _jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _nothing
_jit_set_nvfuser_guard_mode = _set_math_sdp_allow_fp16_bf16_reduction = _cuda_clearCublasWorkspaces = _nothing


def _no(*args: Any) -> bool:
    """Return False: no TorchScript setting is enabled."""
    return False


_jit_set_profiling_executor = _jit_set_profiling_mode = _jit_set_nvfuser_enabled = _no
_jit_can_fuse_on_cpu = _jit_can_fuse_on_gpu = _no
def _get_deterministic_fill_uninitialized_memory() -> bool:
    return _Deterministic.fills


def _set_deterministic_fill_uninitialized_memory(mode: bool) -> None:
    _set_fills(mode)


def _current_graph_task_id() -> int:
    """Return the id of the backward that is running; -1 outside of one."""
    return -1 if _running.task is None else _running.task.id


def _current_autograd_node() -> Any:
    """Return the node whose backward runs; None outside of a backward. NotImplementedError without anomaly detection."""
    if _running.task is not None and _running.node is None:
        raise NotImplementedError("torch._C._current_autograd_node is known inside torch.autograd.detect_anomaly() only")
    return _running.node


def _will_engine_execute_node(node: Any) -> bool:
    """Return whether the running backward reaches a node; RuntimeError outside of a backward."""
    if _running.task is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    return _running.task.will_run(node)


_storage_Use_Count = _refused("_C._storage_Use_Count", "Python's references are counted by sys.getrefcount, memory's are JAX's")
_GLIBCXX_USE_CXX11_ABI = True       # PyTorch is built with this ABI since version 2.6.


class _WeakTensorRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Any):
        self._ref = _weakref.ref(tensor)

    def expired(self) -> bool:
        """Return whether the tensor is gone."""
        return self._ref() is None


class _Functions(type):
    def __getattr__(cls, name: str) -> Any:
        return getattr(_sys.modules["jtorch"], name)


class _VariableFunctionsClass(metaclass=_Functions):
    """The class under which PyTorch's pickles name functions; its attributes are those of ``torch``."""


_VariableFunctions = _VariableFunctionsClass


def _functions_of(name: str) -> _ModuleType:
    """Return the module in which PyTorch's pickles name a namespace's functions, such as ``_linalg.linalg_det``."""
    made = _ModuleType(f"jtorch._C._{name}", f"torch._C._{name}")
    made.__getattr__ = lambda asked: getattr(getattr(_sys.modules["jtorch"], name), asked.removeprefix(f"{name}_"))     # type: ignore[method-assign]
    _sys.modules[made.__name__] = made
    return made


_linalg, _fft, _special = _functions_of("linalg"), _functions_of("fft"), _functions_of("special")
