"""The parts of DTensors on one process's devices, in a job whose meshes have the devices of several processes."""
from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jtorch import engine
from jtorch._api.meshes import spec_of
from jtorch._api.torch_function import as_subclass, switched_off
from jtorch._parallel.layout import Placements
from jtorch._parallel.placements import Replicate
from jtorch._parallel.spmd.dtensor import SPMDTensor, distributed, wrapped
from jtorch._parallel.spmd.layout import spec_for
from jtorch.autograd.function import Function
from jtorch.device import of_mesh
from jtorch.distributed.device_mesh import DeviceMesh
from jtorch.engine.values import Value, aval_of, sharding_of
from jtorch.storage import value_of
from jtorch.tensor import Tensor, alias, wrap


def from_part(part: Tensor, mesh: DeviceMesh, placements: Placements) -> Any:
    """Return the DTensor of which each process gives the part of its devices. Gradients flow back to the part."""
    if all(isinstance(p, Replicate) for p in placements):
        return distributed(part, mesh, placements)
    with switched_off():
        return wrapped(as_subclass(_FromPart.apply(part, mesh, placements), Tensor), mesh)


def part_of(t: SPMDTensor) -> Tensor:
    """Return the part of a DTensor on this process's devices as a plain tensor. Gradients flow back."""
    if all(isinstance(p, Replicate) for p in t.placements):
        return t.full_tensor()
    mesh, placements = t.device_mesh, t.placements
    with switched_off():
        return _PartOf.apply(t, mesh, placements)


class _FromPart(Function):
    @staticmethod
    def forward(ctx: Any, part: Tensor, mesh: DeviceMesh, placements: Placements) -> Tensor:
        ctx.given = mesh, placements
        return _joined(part, mesh, placements)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return _cut_out(g, *ctx.given), None, None


class _PartOf(Function):
    @staticmethod
    def forward(ctx: Any, t: Tensor, mesh: DeviceMesh, placements: Placements) -> Tensor:
        ctx.given = mesh, placements
        return _cut_out(t, mesh, placements)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return _joined(g, *ctx.given), None, None


def _joined(part: Tensor, mesh: DeviceMesh, placements: Placements) -> Tensor:
    """Return the tensor on a mesh of which this process has a part."""
    value = value_of(alias(part))
    engine.read(value)
    array, place = engine.host_array(value), of_mesh(mesh._own)
    spec = spec_for(placements, mesh, array.shape, check=False)
    try:
        with jax.enable_x64(True):
            made = jax.make_array_from_process_local_data(sharding_of(place, spec), array)
    except ValueError as error:
        raise ValueError(f"DTensor.from_local: this process's part of shape {array.shape} cannot be divided over its devices "
                         f"with placements {placements}: {error}") from None
    return wrap(Value(aval_of(made.shape, array.dtype, place, spec), made))


def _cut_out(t: Tensor, mesh: DeviceMesh, placements: Placements) -> Tensor:
    """Return this process's part of a tensor on a mesh. If the tensor has other placements, all processes must call this."""
    laid = t if spec_of(t) == spec_for(placements, mesh, t.shape) else _redistributed(t, mesh, placements)
    return copy_of_part(laid)


def _redistributed(t: Tensor, mesh: DeviceMesh, placements: Placements) -> Tensor:
    return wrapped(as_subclass(alias(t), Tensor), mesh).redistribute(mesh, placements)


def copy_of_part(t: Tensor) -> Tensor:
    """Return a copy of this process's part of a tensor on a mesh, without history."""
    with switched_off():
        value = value_of(t)
    engine.read(value)
    part = _side_by_side(value.array, tuple(t.shape))
    return wrap(Value(aval_of(part.shape, part.dtype, engine.CPU), part))


def place_of_part(t: Tensor) -> tuple[list[int], list[int]]:
    """Return the offsets and sizes of this process's part of a tensor on a mesh."""
    with switched_off():
        aval = value_of(t).aval
    indices = sharding_of(aval.device, aval.spec).addressable_devices_indices_map(aval.shape).values()
    start, stop = _box([_bounds(index, aval.shape) for index in indices if index is not None])
    return start, [b - a for a, b in zip(start, stop, strict=True)]


def _bounds(index: tuple[slice, ...], shape: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(s.indices(n)[0], s.indices(n)[1]) for s, n in zip(index, shape, strict=True)]


def _box(bounds: list[list[tuple[int, int]]]) -> tuple[list[int], list[int]]:
    """Return the start and the stop of the smallest box around shards."""
    dims = list(zip(*bounds, strict=True))
    return [min(a for a, _ in dim) for dim in dims], [max(b for _, b in dim) for dim in dims]


def _side_by_side(array: jax.Array, shape: tuple[int, ...]) -> np.ndarray:
    """Return the shards of this process's devices as one array."""
    bounds = [_bounds(s.index, shape) for s in array.addressable_shards]
    start, stop = _box(bounds)
    made = np.empty([b - a for a, b in zip(start, stop, strict=True)], array.dtype)
    filled = np.zeros(made.shape, np.bool_)
    for bound, shard in zip(bounds, array.addressable_shards, strict=True):
        at = tuple([slice(a - s, b - s) for (a, b), s in zip(bound, start, strict=True)])
        made[at], filled[at] = np.asarray(shard.data), True
    if not filled.all():
        raise NotImplementedError("to_local(): the parts of this process's devices are not side by side. Ask for full_tensor(), "
                                  "or order the mesh so that each process's devices follow each other.")
    return made


__all__ = ["copy_of_part", "from_part", "part_of", "place_of_part"]
