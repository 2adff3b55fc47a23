"""torch.func: transforms of functions, and modules as functions."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.func._forward import hessian, jacfwd, jvp, linearize
from jtorch.func._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from jtorch.func._transforms import grad, grad_and_value, jacrev, vjp
from jtorch.func._vmap import vmap


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """Return the function itself, since in-place operations are already functional. See torch.func.functionalize.

    Args:
        func: any function.
        remove (str): accepted.

    Returns:
        ``func``.

    Example::

        >>> torch.func.functionalize(torch.sin)(torch.zeros(2))
        tensor([0., 0.])

    """
    return func


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """Raise NotImplementedError: ``rearrange`` is not built.

    Raises:
        NotImplementedError: always; the einops package has the function for arrays and tensors.

    """
    raise NotImplementedError("torch.func.rearrange is not built; einops.rearrange, permute and reshape do the same")


__all__ = ["functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]
