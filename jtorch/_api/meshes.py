"""Tensors on a mesh of this process's devices: transfers to and from the mesh, and shardings."""
from __future__ import annotations

from typing import Any

from jax.sharding import PartitionSpec

from jtorch import engine
from jtorch._api.conversion import to_device
from jtorch.device import device, single
from jtorch.dispatch import call
from jtorch.engine import call_of
from jtorch.engine.values import sharding_of
from jtorch.ops import mesh  # noqa: F401  (declares the op)
from jtorch.ops.registry import OPS, T
from jtorch.storage import Storage, relocate, value_of
from jtorch.tensor import Tensor

LIE = OPS["_lie"]


def is_on_mesh(t: Any) -> bool:
    """Return whether a tensor is on a mesh of this process's devices."""
    return isinstance(t, Tensor) and t._storage.aval.device.type == "mesh"


def spec_of(t: Tensor) -> PartitionSpec | None:
    """Return the sharding of a tensor on a mesh, without computing the tensor."""
    return value_of(t).aval.spec


def brought(t: Tensor, place: device, spec: PartitionSpec | None = None) -> Tensor:
    """Copy a tensor from one device to a mesh with the sharding ``spec``. The gradient is copied back."""
    return to_device(t, place, spec)


def taken(t: Tensor) -> Tensor:
    """Gather a tensor on the first device of its mesh. The gradient gets the tensor's sharding."""
    return to_device(t, single(t._storage.aval.device))


def laid(t: Tensor, spec: PartitionSpec | None) -> Tensor:
    """Return the tensor on its mesh with the sharding ``spec``."""
    return t if spec_of(t) == spec else call(_call(t._storage.aval.device, spec), [t])


def keep_laid(s: Storage, spec: PartitionSpec | None) -> None:
    """Restore the sharding of a storage's content after a write."""
    if s.value is not None and s.value.aval.spec != spec:
        relocate(s, engine.record(_call(s.aval.device, spec), (s.value,)))


def _call(place: device, spec: PartitionSpec | None) -> engine.Call:
    return call_of(LIE, (T, sharding_of(place, spec)))
