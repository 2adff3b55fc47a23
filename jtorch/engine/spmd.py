"""Programs that several devices run together, each on its rows of an array."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import NamedSharding


@functools.lru_cache(maxsize=256)
def by_rows(body: Callable, sharding: NamedSharding) -> Any:
    """``body(row, axis)`` of each device's row of an array (devices, …), compiled; ``axis`` names the devices in collectives."""
    axis = sharding.mesh.axis_names[0]

    def on_device(row):
        return body(row[0], axis)[None]
    return jax.jit(jax.shard_map(on_device, mesh=sharding.mesh, in_specs=sharding.spec, out_specs=sharding.spec, check_vma=False))
