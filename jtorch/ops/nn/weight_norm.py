"""Weights as the product of a length and a direction. See torch.nn.utils.parametrizations.weight_norm."""
from __future__ import annotations

import jax

from jtorch.ops import check
from jtorch.ops.nn.distance import vector_norm
from jtorch.ops.registry import Tensor, op


def _norms(v: jax.Array, pow: float, dim: int) -> jax.Array:
    if dim == -1:       # PyTorch's -1 means all dimensions
        return vector_norm(v, pow, tuple(range(v.ndim)))
    check.require(-v.ndim <= dim < v.ndim, f"Dimension out of range (expected to be in range of [{-v.ndim}, {v.ndim - 1}], but "
                  f"got {dim})", IndexError)
    return vector_norm(v, pow, tuple(i for i in range(v.ndim) if i != dim % v.ndim), keepdims=True)


@op(method=False, out=False)
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0):
    """Return the p-norm over all dimensions but ``dim`` (over all for -1). See torch.norm_except_dim."""
    return _norms(v, pow, dim)


@op(method=False, out=False, backward_name="WeightNormInterfaceBackward0")
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0):
    """Return the direction of ``v`` with the lengths ``g``. See torch._weight_norm."""
    return v * (g / _norms(v, 2, dim))
