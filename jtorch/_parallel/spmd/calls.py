"""Calls of functions with DTensors on a mesh that XLA's programs span: they run on sharded arrays, which XLA partitions."""
from __future__ import annotations

from collections.abc import Callable
from types import MethodWrapperType
from typing import Any

from jtorch._api.meshes import is_on_mesh, keep_laid, spec_of
from jtorch._api.torch_function import switched_off
from jtorch._base.pytree import flatten
from jtorch._parallel.calls import SAME_FOR_SHARD, check_not_mixed, name_of
from jtorch._parallel.spmd import dtensor
from jtorch._parallel.spmd.dtensor import SPMDTensor, wrapped
from jtorch.device import device
from jtorch.tensor import Tensor

_ALIKE = set("zeros_like ones_like empty_like full_like rand_like randn_like randint_like "
             "new_zeros new_ones new_empty new_full new_tensor".split())
_OF_MEMORY = set("numpy __array__ __dlpack__ __dlpack_device__ share_memory_ untyped_storage data_ptr".split())
_TO = {"to", "cpu", "cuda"}


def run(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Run a function with DTensors on a mesh that XLA's programs span among its arguments."""
    name = getattr(func, "__name__", "")
    if name in _OF_MEMORY:
        return _run_on_full_tensor(func, args, kwargs)
    if isinstance(func, MethodWrapperType) or name in SAME_FOR_SHARD:
        return _switched_off(func, args, kwargs)
    if kwargs.get("out") is not None:
        raise NotImplementedError(f"torch.{name} of DTensors with out= is not built")
    check_not_mixed(name_of(func), args, kwargs)
    given = [t for t in flatten((args, kwargs))[0] if isinstance(t, SPMDTensor)]
    mesh = _common_mesh(name, given)
    if name in _TO and given:
        args, kwargs = _without_device(given[0], args, kwargs)
    before = [(t._storage, t._storage.generation, t._storage.content().aval.spec) for t in given]
    made = _switched_off(func, args, kwargs)
    for storage, generation, spec in before:
        if storage.generation != generation:
            keep_laid(storage, spec)
    return _wrapped(made, mesh, args[0] if name in _ALIKE else None)


def _switched_off(func: Callable, args: tuple, kwargs: dict) -> Any:
    with switched_off():
        return func(*args, **kwargs)


def _run_on_full_tensor(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Run a function that needs the tensor's memory on a copy of the whole tensor on one device."""
    whole = args[0]._whole()
    return getattr(whole, func.__name__)(*args[1:], **kwargs)


def _common_mesh(name: str, given: list) -> Any:
    """Return the mesh of all arguments; their root mesh, if the meshes differ."""
    meshes = list(dict.fromkeys([t._mesh for t in given]))
    if any(m._root != meshes[0]._root for m in meshes):
        raise RuntimeError(f"{name}: got DTensors on different meshes, which is not supported yet!")
    return meshes[0] if len(meshes) == 1 else meshes[0]._root if meshes else None


def _wrapped(made: Any, mesh: Any, like: Any) -> Any:
    for t in flatten(made)[0]:
        if type(t) is Tensor and is_on_mesh(t):
            wrapped(t, mesh)
            if like is not None and t.shape == like.shape:
                keep_laid(t._storage, spec_of(like))
    return made


def _without_device(x: SPMDTensor, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments of ``to`` without a device of the mesh's type, on which the tensor already is."""
    def is_there(a: Any) -> bool:
        return isinstance(a, (str, device)) and device(a).type == x._mesh.device_type
    kwargs = {k: v for k, v in kwargs.items() if not (k == "device" and is_there(v))}
    return tuple([a for a in args if not is_there(a)]), kwargs


dtensor.runner["run"] = run
