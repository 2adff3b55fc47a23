"""Tensors on a mesh of this process's devices: bringing them there and back, and how they lie there."""
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
from jtorch.storage import Storage, put_in_place, value_of
from jtorch.tensor import Tensor

LIE = OPS["_lie"]


def is_on_mesh(t: Any) -> bool:
    """Whether a tensor is on a mesh of this process's devices."""
    return isinstance(t, Tensor) and t._storage.aval.device.type == "mesh"


def spec_of(t: Tensor) -> PartitionSpec | None:
    """Which of the tensor's dims are split over which axes of its mesh. Nothing is computed for it."""
    return value_of(t).aval.spec


def brought(t: Tensor, place: device, spec: PartitionSpec | None = None) -> Tensor:
    """A tensor of one device on a mesh, split as ``spec`` says. Its gradient goes back."""
    return to_device(t, place, spec)


def taken(t: Tensor) -> Tensor:
    """All of a tensor on a mesh, on the first device of the mesh. Its gradient goes back, to lie as the tensor does."""
    return to_device(t, single(t._storage.aval.device))


def laid(t: Tensor, spec: PartitionSpec | None) -> Tensor:
    """The same tensor on its mesh, split as ``spec`` says."""
    return t if spec_of(t) == spec else call(_call(t._storage.aval.device, spec), [t])


def keep_laid(s: Storage, spec: PartitionSpec | None) -> None:
    """Makes the content of a storage lie as it did before a write."""
    if s.value is not None and s.value.aval.spec != spec:
        put_in_place(s, engine.record(_call(s.aval.device, spec), (s.value,)))


def _call(place: device, spec: PartitionSpec | None) -> engine.Call:
    return call_of(LIE, (T, sharding_of(place, spec)))
