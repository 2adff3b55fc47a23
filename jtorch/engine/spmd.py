"""Programs that several devices run together, each device on its row of an array."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding


@functools.lru_cache(maxsize=256)
def by_rows(body: Callable, sharding: NamedSharding, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Compile ``body(row, axis)`` for each device's row of an array (devices, …). ``axis`` names the devices in collectives."""
    axis = sharding.mesh.axis_names[0]

    def on_device(row):
        return body(row[0], axis)[None]
    mapped = jax.shard_map(on_device, mesh=sharding.mesh, in_specs=sharding.spec, out_specs=sharding.spec, check_vma=False)
    with jax.enable_x64(True):
        return jax.jit(mapped).lower(jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)).compile()
