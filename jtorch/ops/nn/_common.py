"""Functions shared by the ops of torch.nn.functional: decorator, dtype checks, reductions and per-dimension arguments."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jtorch._base import warned
from jtorch.ops import check, promotion
from jtorch.ops.registry import op


def functional(fn: Callable | None = None, /, **facts) -> Any:
    """Declare an op of torch.nn.functional, which has neither a method nor ``out=``."""
    if fn is None:
        return lambda f: functional(f, **facts)
    facts.setdefault("inplace", False)
    facts.setdefault("out", False)
    facts.setdefault("warns", _reduction_warner(fn))
    return op(fn, name=f"nn.functional.{fn.__name__}", method=False, **facts)


def size_text(shape: Sequence[int]) -> str:
    """Return a shape as PyTorch's messages print it."""
    return f"torch.Size({list(shape)})"


def require_float(x: jax.Array, kernel: str) -> None:
    """Raise the NotImplementedError of a PyTorch kernel unless ``x`` is real floating."""
    if not promotion.is_float(np.dtype(x.dtype)):
        raise not_implemented(kernel, x.dtype)


def not_implemented(kernel: str, dtype) -> NotImplementedError:
    """Return the error of a kernel that does not support a dtype."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{check.scalar_name(dtype)}'")


def common_dtype(*dtypes) -> np.dtype:
    """Return the dtype to which all of ``dtypes`` promote."""
    return functools.reduce(promotion.promote_types, map(np.dtype, dtypes))


def magnitude(x: jax.Array) -> jax.Array:
    """Return the absolute value. Its gradient at 0 is 0, while that of ``jnp.abs`` is 1."""
    return jnp.abs(x) if promotion.is_complex(np.dtype(x.dtype)) else x * jnp.sign(x)


def clamp_min(x: jax.Array, low) -> jax.Array:
    """Return the maximum of ``x`` and ``low``. The gradient passes if they are equal, while ``jnp.maximum`` halves it."""
    return jnp.where(x < low, jnp.asarray(low, x.dtype), x)


def reduction_from_legacy(size_average: bool | None, reduce: bool | None) -> str:
    """Return the reduction that the deprecated arguments mean."""
    if reduce is not None and not reduce:
        return "none"
    return "mean" if size_average is None or size_average else "sum"


def warn_of_legacy(size_average: bool | None, reduce: bool | None) -> str:
    """Return the reduction that the deprecated arguments mean, with PyTorch's warning."""
    reduction = reduction_from_legacy(size_average, reduce)
    warned.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    return reduction


def warn_of_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> None:
    """Give PyTorch's warnings for deprecated arguments of a loss's reduction."""
    if size_average is not None or reduce is not None:
        warn_of_legacy(size_average, reduce)
    elif reduction == "elementwise_mean":
        warned.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")


def _reduction_warner(fn: Callable) -> Callable | None:
    """Return the ``warns`` function of an op with deprecated reduction arguments, or None."""
    names = list(inspect.signature(fn).parameters)
    if "size_average" not in names:
        return None
    average, reduce, reduction = (names.index(n) for n in ("size_average", "reduce", "reduction"))

    def warns(*args):
        if args[average] is not None or args[reduce] is not None or args[reduction] == "elementwise_mean":
            warn_of_reduction(args[average], args[reduce], args[reduction])
    return warns


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """Return ``none``, ``mean`` or ``sum`` from a loss's arguments; the first two are deprecated."""
    if size_average is not None or reduce is not None:
        return reduction_from_legacy(size_average, reduce)
    if reduction == "elementwise_mean":
        return "mean"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(loss: jax.Array, reduction: str) -> jax.Array:
    """Return ``loss``, its mean or its sum. Integers sum to int64."""
    if reduction == "mean":
        check.require(promotion.is_inexact(np.dtype(loss.dtype)), "mean(): could not infer output dtype. Input dtype "
                      f"must be either a floating point or complex dtype. Got: {check.scalar_name(loss.dtype)}")
        return jnp.mean(loss)
    if reduction == "sum":
        return jnp.sum(loss) if promotion.is_inexact(np.dtype(loss.dtype)) else jnp.sum(loss, dtype=jnp.int64)
    return loss


def ntuple(value: int | Sequence[int], n: int, name: str, op_name: str) -> tuple[int, ...]:
    """Return ``value`` for each of ``n`` spatial dimensions. An int or a list of one int applies to all."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(values) == 1:
        return values * n
    check.require(len(values) == n, f"{op_name}: {name} must either be a single int, or a tuple of {n} ints")
    return values
