"""torch._functorch.vmap: helpers of vmap. See torch.func.vmap for the function."""
from __future__ import annotations

from typing import Any

from jtorch._base.not_built import placeholder
from jtorch._base.pytree import flatten, spread, unflatten
from jtorch.func._vmap import _name
from jtorch.tensor import Tensor as Tensor

tree_flatten, tree_unflatten, _get_name = flatten, unflatten, _name
in_dims_t = out_dims_t = int | tuple[int | None, ...]


def _broadcast_to_and_flatten(tree: Any, treespec: Any, is_leaf: Any = None) -> list | None:
    """Return a prefix tree's leaves, each repeated for the leaves below it; None if the tree is no prefix of ``treespec``."""
    return spread(tree, treespec)


(_add_batch_dim, _remove_batch_dim, _maybe_remove_batch_dim, _unwrap_batched, _create_batched_inputs, _process_batched_inputs,
 _validate_and_get_batch_size) = (
    placeholder("_functorch.vmap", name) for name in (
        "_add_batch_dim", "_remove_batch_dim", "_maybe_remove_batch_dim", "_unwrap_batched", "_create_batched_inputs",
        "_process_batched_inputs", "_validate_and_get_batch_size"))
