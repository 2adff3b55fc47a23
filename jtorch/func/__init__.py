"""torch.func: functions of functions, and modules as functions."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.func._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from jtorch.func._transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from jtorch.func._vmap import vmap


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """The function itself: in-place operations are already functional underneath. See torch.func.functionalize."""
    return func


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """Not built."""
    raise NotImplementedError("torch.func.rearrange is not built; einops.rearrange, permute and reshape do the same")


__all__ = ["functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]
