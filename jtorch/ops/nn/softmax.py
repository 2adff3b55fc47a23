"""softmax, log_softmax and softmin. See torch.softmax, torch.nn.functional.softmax and torch.special.softmax."""
from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

import jtorch.dtype as dtypes
from jtorch._base import warned
from jtorch.ops import check, out_dtypes
from jtorch.ops import derivatives_from_result as from_result
from jtorch.ops.elementwise import widen
from jtorch.ops.facts import Out, Saves
from jtorch.ops.nn._common import functional, require_float
from jtorch.ops.registry import Tensor, op


def _apply(fn: Callable, kernel: str, input: jax.Array, dim: int, dtype) -> jax.Array:
    x = input if dtype is None else input.astype(dtype)
    axis = check.wrap_dim(dim, x.ndim)
    if not x.size:
        return x
    require_float(x, f"{kernel}_lastdim_kernel_impl" if axis == max(x.ndim - 1, 0) else f"{kernel}_kernel_impl")
    if x.ndim == 0:     # JAX's arrays of 0 dims have no axis 0. The result depends on x, so that gradients are 0, not absent.
        return fn(widen(x)[None], axis=0)[0].astype(x.dtype)
    return fn(widen(x), axis=axis).astype(x.dtype)


def _implicit_dim(name: str, dim: int | None, ndim: int) -> int:
    """Return the dim that PyTorch chooses if none is given, with its warning."""
    if dim is not None:
        return dim
    warned.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
                "argument.")
    return 0 if ndim in (0, 1, 3) else 1


@op(out=Out(True, refuses=out_dtypes.EXPECTED), saves=Saves("result", change=from_result.of_softmax),
    aliases=("special.softmax",))
def softmax(input: Tensor, dim: int, dtype: dtypes.dtype | None = None):
    """Return exp of the input, scaled to sum 1 along ``dim``. See torch.softmax."""
    return _apply(jax.nn.softmax, "softmax", input, dim, dtype)


@op(out=Out(True, refuses=out_dtypes.EXPECTED), saves=Saves("result", change=from_result.of_log_softmax),
    aliases=("special.log_softmax",))
def log_softmax(input: Tensor, dim: int, dtype: dtypes.dtype | None = None):
    """Return the logarithm of softmax, computed as one. See torch.log_softmax."""
    return _apply(jax.nn.log_softmax, "log_softmax", input, dim, dtype)


@op(name="nn.functional.softmax", out=False, saves=Saves("result", change=from_result.of_softmax),
    backward_name="SoftmaxBackward0")
def functional_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None):
    """Return torch.softmax, which may be called without ``dim``. See torch.nn.functional.softmax."""
    return _apply(jax.nn.softmax, "softmax", input, _implicit_dim("softmax", dim, input.ndim), dtype)


@op(name="nn.functional.log_softmax", out=False, saves=Saves("result", change=from_result.of_log_softmax),
    backward_name="LogSoftmaxBackward0")
def functional_log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3,
                           dtype: dtypes.dtype | None = None):
    """Return torch.log_softmax, which may be called without ``dim``. See torch.nn.functional.log_softmax."""
    return _apply(jax.nn.log_softmax, "log_softmax", input, _implicit_dim("log_softmax", dim, input.ndim), dtype)


@functional(saves="result", backward_name="SoftmaxBackward0")
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None):
    """Return softmax of the negated input. See torch.nn.functional.softmin."""
    check.require(input.dtype != jnp.bool_, "Negation, the `-` operator, on a bool tensor is not supported. If you are "
                  "trying to invert a mask, use the `~` or `logical_not()` operator instead.")
    return _apply(jax.nn.softmax, "softmax", -input, _implicit_dim("softmin", dim, input.ndim), dtype)
