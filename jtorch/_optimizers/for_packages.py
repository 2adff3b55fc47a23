"""Private names of torch.optim.optimizer that other packages' optimizers import: docstring parts and checks."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import jtorch.dtype as dtypes
from jtorch._api import functions
from jtorch.device import device
from jtorch.tensor import Parameter, Tensor

StateDict: TypeAlias = dict[str, Any]
DeviceDict: TypeAlias = dict[device | None, Tensor]
DeviceDtypeDict: TypeAlias = dict[tuple[device, dtypes.dtype] | None, Tensor]

_params_doc = "params (iterable): parameters, pairs of names and parameters, or dicts that each describe a group."
_foreach_doc = "foreach (bool, optional): whether the calls of a step are made for all parameters at once."
_fused_doc = "fused (bool, optional): whether a step is one kernel."
_capturable_doc = "capturable (bool, optional): whether a step may be part of a recorded graph."
_differentiable_doc = "differentiable (bool, optional): whether autograd goes through a step."
_maximize_doc = "maximize (bool, optional): whether the objective is maximized."
_foreach_supported_types = [Tensor, Parameter]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Return the device types on which PyTorch has fused steps."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Return the device types on which PyTorch updates all parameters at once."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_scalar_dtype(is_fused: bool | None = None) -> dtypes.dtype:
    """Return the dtype of step counts."""
    wide = not is_fused and dtypes.get_default_dtype() is dtypes.float64
    return dtypes.float64 if wide else dtypes.float32


def _stack_if_compiling(x: list) -> list:
    """Return the list unchanged: there is no Dynamo."""
    return x


def _to_scalar(x: Any) -> Any:
    """Return a 1-element tensor as a 0-dim tensor; return other values unchanged."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _view_as_real(params: list, *state_and_grads: list) -> None:
    """Replace complex tensors in the lists by real views."""
    for i, p in enumerate(params):
        if p.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[i] = functions.view_as_real(tensors[i])


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """Raise RuntimeError unless PyTorch has a fused step for the parameter."""
    supported = [kind for kind in _get_fused_kernels_supported_devices() if kind != "cuda" or not cuda_unsupported]
    if p.device.type not in supported or not p.dtype.is_floating_point:
        raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of "
                           f"supported devices: {supported} but {p.dtype} and {p.device.type}")


def _disable_dynamo_if_unsupported(single_tensor_fn: Callable | None = None) -> Callable[[Callable], Callable]:
    """Return a decorator that returns the function unchanged: there is no Dynamo."""
    return lambda func: func
