"""Programs that several devices run together, each device on its part of an array."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding


def joined_shape(devices: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the parts of all devices, joined along the first dim; a number counts as a dim of one element."""
    return (devices * shape[0], *shape[1:]) if shape else (devices,)


@functools.lru_cache(maxsize=256)
def by_parts(body: Callable, sharding: NamedSharding, shape: tuple[int, ...], dtype: np.dtype) -> tuple[Any, bool]:
    """Compile ``body(part, axis)`` for each device's part of this shape. ``axis`` names the devices in collectives.

    The program takes and returns arrays whose parts are joined along the first dim. The second result says whether the part of
    the result is a number.
    """
    axis = sharding.mesh.axis_names[0]
    is_number = False

    def on_device(part):
        nonlocal is_number
        made = body(part.reshape(shape), axis)
        is_number = not made.shape
        return made.reshape(1) if is_number else made
    mapped = jax.shard_map(on_device, mesh=sharding.mesh, in_specs=sharding.spec, out_specs=sharding.spec, check_vma=False)
    whole = jax.ShapeDtypeStruct(joined_shape(sharding.mesh.size, shape), dtype, sharding=sharding)
    with jax.enable_x64(True):
        compiled = jax.jit(mapped).lower(whole).compile()
    return compiled, is_number
