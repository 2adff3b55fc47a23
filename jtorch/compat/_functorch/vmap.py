"""torch._functorch.vmap: helpers of vmap. See torch.func.vmap for the function."""
from __future__ import annotations

from typing import Any

from jtorch._base.not_built import placeholder
from jtorch._base.pytree import flatten, spread, unflatten
from jtorch.engine.batched import is_batched
from jtorch.func._vmap import _name
from jtorch.func._vmap import add_batch_dim as _add_batch_dim  # noqa: F401
from jtorch.func._vmap import remove_batch_dim as _remove_batch_dim
from jtorch.storage import value_of
from jtorch.tensor import Tensor as Tensor

tree_flatten, tree_unflatten, _get_name = flatten, unflatten, _name
in_dims_t = out_dims_t = int | tuple[int | None, ...]


def _broadcast_to_and_flatten(tree: Any, treespec: Any, is_leaf: Any = None) -> list | None:
    """Return a prefix tree's leaves, each repeated for the leaves below it; None if the tree is no prefix of ``treespec``."""
    return spread(tree, treespec)


def _maybe_remove_batch_dim(name: str, batched_output: Any, vmap_level: Any, batch_size: int, out_dim: int | None) -> Any:
    """Return a result with its samples along ``out_dim``. If ``out_dim`` is None, return an unmapped result unchanged."""
    if out_dim is None:
        if isinstance(batched_output, Tensor) and is_batched(value_of(batched_output.detach())):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did you mean "  # noqa: TRY004
                         "to set out_dims= to None for output?")
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


_unwrap_batched, _create_batched_inputs, _process_batched_inputs, _validate_and_get_batch_size = (
    placeholder("_functorch.vmap", name) for name in (
        "_unwrap_batched", "_create_batched_inputs", "_process_batched_inputs", "_validate_and_get_batch_size"))
