"""Conversions of a module's parameters: in place, swapped or replaced, as torch.__future__ sets."""
from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import jtorch.__future__ as chosen
from jtorch.no_grad import no_grad
from jtorch.tensor import Parameter, Tensor


def swap(t1: Tensor, t2: Tensor) -> None:
    """Swap two tensors. See torch.utils.swap_tensors."""
    from jtorch.utils._swap import swap_tensors
    swap_tensors(t1, t2)


def swapping_many() -> Any:
    """Return a context in which many tensors are swapped quickly, or one that does nothing."""
    if not chosen.get_swap_module_params_on_conversion():
        return contextlib.nullcontext()
    from jtorch.utils import _swap
    return _swap.swapping_many()


def convert(module: Any, name: str, fn: Callable[[Tensor], Tensor]) -> None:
    """Convert a module's parameter and its gradient by ``fn``."""
    param = module._parameters[name]
    if chosen.get_swap_module_params_on_conversion():
        _swapped(module, name, param, fn)
    elif chosen.get_overwrite_module_params_on_conversion():
        with no_grad():
            _anew(module, name, param, fn(param), fn)
    else:
        _in_place(module, name, param, fn)


def _in_place(module: Any, name: str, param: Parameter, fn: Callable[[Tensor], Tensor]) -> None:
    with no_grad():
        new = fn(param)
        # Subclasses that define ``_as_parameter``, such as DTensor, accept ``data`` of any device.
        if new._as_parameter is None and (new.device.type == "meta") != (param.device.type == "meta"):
            _anew(module, name, param, new, fn)
            return
        grad = param._grad
        if new is not param:
            param.data = new
        if grad is not None:
            grad.data = fn(grad)


def _anew(module: Any, name: str, param: Parameter, made: Tensor, fn: Callable[[Tensor], Tensor]) -> None:
    with no_grad():
        module._parameters[name] = new = Parameter(made, param.requires_grad)
        if param.grad is not None:
            new.grad = fn(param.grad).requires_grad_(param.grad.requires_grad)


def _swapped(module: Any, name: str, param: Parameter, fn: Callable[[Tensor], Tensor]) -> None:
    with no_grad():
        made = fn(param)
    grad, where = param.grad, f"_apply(): Couldn't swap {module._get_name()}.{name}"
    param.grad = None
    try:
        swap(param, Parameter(made, param.requires_grad))
    except Exception as e:
        param.grad = grad
        raise RuntimeError(where) from e
    if grad is None:
        return
    with no_grad():
        new = fn(grad)
    new.requires_grad_(grad.requires_grad)
    try:
        swap(grad, new)
    except Exception as e:
        raise RuntimeError(f"{where}.grad") from e
    param.grad = grad


def load_swapped(target: Tensor, given: Tensor, assign: bool) -> None:
    """Swap a module's tensor with the result of its ``module_load`` on a state dict's tensor."""
    new = target.module_load(given, assign=assign)      # type: ignore[attr-defined]
    if new is given or new is target:
        raise RuntimeError("module_load returned one of self or other, please .detach() the result if returning one of the "
                           "inputs in module_load")
    if isinstance(target, Parameter):
        new = new.requires_grad_(target.requires_grad) if isinstance(new, Parameter) else Parameter(new, target.requires_grad)
    swap(target, new)
