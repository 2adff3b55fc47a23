"""A module's forward on several devices of one process: each device has the parameters and a part of the batch."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import PartitionSpec

from jtorch._api.meshes import brought, is_on_mesh, taken
from jtorch._base.pytree import flatten, tree_map
from jtorch.device import device, jax_device, mesh_of, of_mesh
from jtorch.nn.modules.module import Module
from jtorch.nn.utils.stateless import call
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor


def forward(module: Module, places: Sequence[device], dim: int, args: tuple, kwargs: dict) -> Any:
    """Return the module's results for the whole batch as plain tensors.

    Gradients reach the module's parameters, and writes reach its buffers.
    """
    mesh = _mesh(places, _batch((args, kwargs), dim))
    there = {name: brought(t, mesh) for name, t in [*module.named_parameters(), *module.named_buffers()]}
    versions = {name: there[name]._version for name, _ in module.named_buffers()}
    args, kwargs = tree_map(_spreading(mesh, dim), (args, kwargs))
    made = call(module, there, args, kwargs)
    with no_grad():
        for name, b in module.named_buffers():
            if there[name]._version != versions[name]:
                b.copy_(taken(there[name]))      # type: ignore[attr-defined]
    return tree_map(lambda x: taken(x) if is_on_mesh(x) else x, made)


def _batch(given: Any, dim: int) -> int:
    """Return the batch size, taken from the first tensor."""
    return next((x.shape[dim] for x in flatten(given)[0] if isinstance(x, Tensor) and x.dim() > dim), 1)


def _mesh(places: Sequence[device], batch: int) -> device:
    """Return a mesh of the first devices: the largest number that divides the batch size."""
    n = next(n for n in range(len(places), 0, -1) if not batch % n)
    return of_mesh(jax.sharding.Mesh(np.array([jax_device(p) for p in places[:n]]), ("batch",)))


def _spreading(mesh: device, dim: int) -> Callable[[Any], Any]:
    def spread(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        splits = x.dim() > dim and not x.shape[dim] % mesh_of(mesh).size
        return brought(x, mesh, PartitionSpec(*[None] * dim, "batch") if splits else None)
    return spread
