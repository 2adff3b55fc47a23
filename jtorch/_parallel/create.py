"""Creation of DTensors. See torch.distributed.tensor.distribute_tensor."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jtorch.distributed as dist
from jtorch import random
from jtorch._api import functions
from jtorch._base.layout import strided
from jtorch._base.size import Size
from jtorch._parallel.dtensor import DTensor, on_devices_of, wrapped
from jtorch._parallel.layout import Layout, contiguous_stride, local_part, normalized
from jtorch._parallel.placements import Partial, Placement, Replicate, Shard
from jtorch._parallel.rules.making import part_of
from jtorch._parallel.spmd.dtensor import distributed
from jtorch.distributed.device_mesh import DeviceMesh, current_mesh
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor


def distribute_tensor(tensor: Tensor, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *,
                      src_data_rank: int | None = 0) -> DTensor:
    """Distribute a tensor over a mesh. See torch.distributed.tensor.distribute_tensor.

    Args:
        tensor: a leaf tensor. ``src_data_rank`` says which rank's tensor is used.
        device_mesh: the mesh; the current one, if None.
        placements: one placement for each dimension of the mesh; replicated on all, if None.
        src_data_rank: the rank along each dimension whose tensor is used; None if each rank uses its own.

    Returns:
        The DTensor, of the same shape and dtype.

    Raises:
        RuntimeError: the tensor is no leaf.
        ValueError: another number of placements than the mesh has dimensions, or a DTensor with another mesh or placements.

    >>> from jtorch.distributed.tensor import Shard
    >>> mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
    >>> x = torch.distributed.tensor.distribute_tensor(torch.arange(4.), mesh, [Shard(0)])
    >>> (x * 2).sum().full_tensor()
    tensor(12.)

    """
    mesh = device_mesh or current_mesh()
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    if placements is not None and len(placements) != mesh.ndim:
        raise ValueError("`placements` must have the same length as `device_mesh.ndim`! Found placements length: "
                         f"{len(placements)}, and device_mesh.ndim: {mesh.ndim}.")
    given = normalized(placements, mesh, tensor.dim())
    if isinstance(tensor, DTensor):
        return _as_it_is(tensor, mesh, given)
    unknown = next((p for p in given if not isinstance(p, (Shard, Replicate, Partial))), None)
    if unknown is not None:
        raise RuntimeError(f"Trying to distribute tensor with unsupported placements {unknown} on device mesh dimension "
                           f"{given.index(unknown)}!")
    if mesh._own is not None:
        return distributed(tensor.detach(), mesh, given).requires_grad_(tensor.requires_grad)     # type: ignore[return-value]
    full = on_devices_of(mesh, tensor.detach()).contiguous()
    if src_data_rank is not None and mesh.get_coordinate() is not None and not tensor.is_meta:
        full = _of_source(full, mesh, src_data_rank)
    spec = Layout(mesh, given, tuple(tensor.shape), tuple(tensor.stride()))
    return wrapped(_cut(full, spec), spec).requires_grad_(tensor.requires_grad)


def _as_it_is(tensor: DTensor, mesh: DeviceMesh, placements: tuple) -> DTensor:
    if tensor.device_mesh != mesh:
        raise ValueError(f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device mesh {mesh}.")
    if tensor.placements != placements:
        raise ValueError(f"Cannot distribute a DTensor with placements {tensor.placements} to a different placements "
                         f"{list(placements)}. do you want to call `redistribute` instead?")
    return tensor


def _of_source(full: Tensor, mesh: DeviceMesh, source: int) -> Tensor:
    made = full.clone()
    with no_grad():
        for i in range(mesh.ndim):
            dist.broadcast(made, group=mesh.get_group(i), group_src=source)
    return made


def _cut(full: Tensor, spec: Layout) -> Tensor:
    """Return this rank's shard of a tensor that all ranks have, as a copy."""
    if spec.mesh.get_coordinate() is None:
        return full.new_empty(0)        # type: ignore[attr-defined]
    return part_of(full, spec).detach().clone()


# ---------------------------------------------------------------- creation functions

def _size(given: tuple) -> tuple[int, ...]:
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list, Size)) else tuple(given)


def _made(make: Callable[[tuple[int, ...], Any], Tensor], size: tuple[int, ...], requires_grad: bool, layout: Any,
          mesh: DeviceMesh | None, placements: Sequence[Placement] | None, drawn: bool = False) -> DTensor:
    if layout is not strided:
        raise AssertionError("layout value not supported!")
    mesh = mesh or current_mesh()
    if placements is not None and len(placements) != mesh.ndim:
        raise AssertionError("mesh dimension does not match the length of placements")
    given = normalized(placements or None, mesh, len(size))
    if mesh._own is not None:
        return distributed(make(size, None), mesh, given).requires_grad_(requires_grad)     # type: ignore[return-value]
    spec = Layout(mesh, given, size, contiguous_stride(size))
    local = _cut(make(size, mesh.device_type), spec) if drawn else make(local_part(size, mesh, given)[0], mesh.device_type)
    return wrapped(local, spec).requires_grad_(requires_grad)


def zeros(*size: Any, dtype: Any = None, layout: Any = strided, requires_grad: bool = False,
          device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None) -> DTensor:
    """Return a DTensor of zeros. See torch.distributed.tensor.zeros.

    Args:
        size: the shape of the whole tensor, as integers or a sequence.
        dtype: the dtype; the default dtype, if None.
        layout: ``torch.strided``.
        requires_grad: whether autograd records operations on it.
        device_mesh: the mesh; the current one, if None.
        placements: one placement for each dimension of the mesh; replicated on all, if None.

    Returns:
        The DTensor.

    """
    return _made(lambda s, on: functions.zeros(s, dtype=dtype, device=on), _size(size), requires_grad, layout, device_mesh,
                 placements)


def ones(*size: Any, dtype: Any = None, layout: Any = strided, requires_grad: bool = False,
         device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None) -> DTensor:
    """Return a DTensor of ones. See torch.distributed.tensor.ones, and ``zeros`` for the arguments."""
    return _made(lambda s, on: functions.ones(s, dtype=dtype, device=on), _size(size), requires_grad, layout, device_mesh,
                 placements)


def empty(*size: Any, dtype: Any = None, layout: Any = strided, requires_grad: bool = False,
          device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None) -> DTensor:
    """Return a DTensor of arbitrary values. See torch.distributed.tensor.empty, and ``zeros`` for the arguments."""
    return _made(lambda s, on: functions.empty(s, dtype=dtype, device=on), _size(size), requires_grad, layout, device_mesh,
                 placements)


def full(size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = strided, requires_grad: bool = False,
         device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None) -> DTensor:
    """Return a DTensor filled with a number. See torch.distributed.tensor.full, and ``zeros`` for the arguments."""
    return _made(lambda s, on: functions.full(s, fill_value, dtype=dtype, device=on), _size((size,)), requires_grad, layout,
                 device_mesh, placements)


def rand(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = strided,
         device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None) -> DTensor:
    """Return a DTensor of uniform random numbers in [0, 1): those that one process draws, if all ranks have the same seed."""
    return _made(lambda s, on: random.rand(s, dtype=dtype, device=on), _size(size), requires_grad, layout, device_mesh,
                 placements, True)


def randn(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = strided,
          device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None) -> DTensor:
    """Return a DTensor of normal random numbers: those that one process draws, if all ranks have the same seed."""
    return _made(lambda s, on: random.randn(s, dtype=dtype, device=on), _size(size), requires_grad, layout, device_mesh,
                 placements, True)


