"""Registration of tensors as JAX pytrees, so that ``jax.jit``, ``jax.grad`` and ``jax.vmap`` accept and return them."""
from __future__ import annotations

import jax

from jtorch._api.creation import from_jax
from jtorch.tensor import Parameter, Tensor


def _flatten(t: Tensor):
    return (t.detach().jax(),), None


def _unflatten(_, children) -> Tensor:
    array = children[0]
    if isinstance(array, Tensor) or not hasattr(array, "dtype"):
        return array        # JAX also unflattens with placeholders
    return from_jax(array) if isinstance(array, (jax.Array, jax.core.Tracer)) else array


def register() -> None:
    """Register the tensor classes with JAX. Their only leaf is the array."""
    for cls in (Tensor, Parameter):
        jax.tree_util.register_pytree_node(cls, _flatten, _unflatten)
