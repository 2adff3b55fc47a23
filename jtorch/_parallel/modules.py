"""Modules whose parameters are DTensors. See torch.distributed.tensor.distribute_module and parallelize_module."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from fnmatch import fnmatch
from typing import Any

from jtorch._base import warned
from jtorch._parallel.create import distribute_tensor
from jtorch._parallel.dtensor import DTensor
from jtorch._parallel.placements import Replicate
from jtorch._parallel.styles import ParallelStyle, distributed_once
from jtorch.distributed.device_mesh import DeviceMesh, current_mesh
from jtorch.nn.modules.module import Module
from jtorch.tensor import Parameter


def replicate(module: Module, mesh: DeviceMesh) -> None:
    """Replace the plain parameters and buffers of one module by replicated DTensors."""
    everywhere = [Replicate()] * mesh.ndim
    for name, p in list(module._parameters.items()):
        if p is not None and not isinstance(p, DTensor):
            module.register_parameter(name, Parameter(distribute_tensor(p.data, mesh, everywhere), p.requires_grad))    # type: ignore[attr-defined]
    for name, b in list(module._buffers.items()):
        if b is not None and not isinstance(b, DTensor):
            module._buffers[name] = distribute_tensor(b, mesh, everywhere)


def distribute_module(module: Module, device_mesh: DeviceMesh | None = None, partition_fn: Callable | None = None,
                      input_fn: Callable | None = None, output_fn: Callable | None = None) -> Module:
    """Replace a module's parameters by DTensors. See torch.distributed.tensor.distribute_module.

    Args:
        module: the module, which is changed in place.
        device_mesh: the mesh; the current one, if None.
        partition_fn: a function of (name, submodule, mesh) that replaces parameters; the others become replicated.
        input_fn: a function of (module, inputs, mesh) that converts the module's inputs.
        output_fn: a function of (module, outputs, mesh) that converts the module's outputs.

    Returns:
        The module.

    Raises:
        RuntimeError: the module was distributed before.
        ValueError: ``input_fn`` or ``output_fn`` takes another number of arguments.

    >>> mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
    >>> net = torch.distributed.tensor.distribute_module(torch.nn.Linear(2, 2), mesh)
    >>> net.weight.placements
    (Replicate(),)

    """
    mesh = device_mesh or current_mesh()
    distributed_once(module)
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        replicate(part, mesh)
    if input_fn is not None:
        prepare = _with_mesh(input_fn, mesh, "input_fn", "inputs")
        module.register_forward_pre_hook(lambda mod, inputs: prepare(mod, inputs))
    if output_fn is not None:
        finish = _with_mesh(output_fn, mesh, "output_fn", "outputs")
        module.register_forward_hook(lambda mod, inputs, outputs: finish(mod, outputs))
    return module


def _with_mesh(fn: Callable, mesh: DeviceMesh, name: str, what: str) -> Callable[[Module, Any], Any]:
    n = len(inspect.signature(fn).parameters)
    if n == 2:
        warned.warn(f"Deprecating {name} that takes two arguments ({what}, device_mesh), please use {name} that takes in "
                    f"(module, {what}, device_mesh) instead!", FutureWarning)
        return lambda mod, x: fn(x, mesh)
    if n != 3:
        raise ValueError(f"{name} should take in 3 arguments, but got {n} arguments!")
    return lambda mod, x: fn(mod, x, mesh)


def parallelize_module(module: Module, device_mesh: DeviceMesh | None = None, parallelize_plan: Any = None, *,
                       src_data_rank: int | None = 0) -> Module:
    """Shard modules over a mesh of one dimension, as a plan says. See torch.distributed.tensor.parallel.parallelize_module.

    Args:
        module: the module, which is changed in place.
        device_mesh: the mesh; the current one, if None.
        parallelize_plan: a style, or a dict of styles by submodule names, in which ``*`` and ``?`` are wildcards.
        src_data_rank: the rank whose parameters are used; None if each rank uses its own.

    Returns:
        The module.

    Raises:
        TypeError: a plan of another type.

    >>> from jtorch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    >>> mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
    >>> net = parallelize_module(torch.nn.Sequential(torch.nn.Linear(2, 4)), mesh, {"0": ColwiseParallel()})
    >>> net[0].weight.placements
    (Shard(dim=0),)

    """
    mesh = device_mesh or current_mesh()
    if parallelize_plan is None:
        warned.warn("No parallelize_plan is provided and auto-parallel is not supported at the moment, so this "
                    "parallelize_module call will do nothing.")
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {type(parallelize_plan)} "
                        "found!")
    for path, style in parallelize_plan.items():
        _parallelize_at(module, mesh, path, style, src_data_rank)
    return module


def _parallelize_at(module: Module, mesh: DeviceMesh, path: str, style: ParallelStyle, source: int | None) -> None:
    token, _, rest = path.partition(".")
    if not path:
        parallelize_module(module, mesh, style, src_data_rank=source)
        return
    found = [child for name, child in module.named_children() if fnmatch(name, token)]
    if not found:
        warned.warn(f"Parallelize plan key '{path}' could not be resolved: no submodule matching token '{token}' in module "
                    f"{module}, skipping this plan entry.")
    for child in found:
        parallelize_module(child, mesh, {rest: style} if rest else style, src_data_rank=source)
