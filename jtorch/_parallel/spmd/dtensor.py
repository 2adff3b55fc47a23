"""A DTensor on a mesh that XLA's programs span: a whole tensor whose array JAX shards.

So its sizes, memory, history and gradient are those of a tensor. Its placements are read from the array's sharding.
"""
from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jtorch._api.meshes import brought, is_on_mesh, keep_laid, laid, spec_of, taken
from jtorch._api.torch_function import as_subclass, intercept_written, state, switched_off
from jtorch._parallel.dtensor import DTensor, marked
from jtorch._parallel.layout import Layout, Placements, normalized
from jtorch._parallel.placements import Partial, Placement, Replicate
from jtorch._parallel.spmd.layout import placements_of, says_all, spec_for
from jtorch.device import interned, of_mesh
from jtorch.distributed.device_mesh import DeviceMesh
from jtorch.tensor import Parameter, Tensor

# ``runner["run"]`` runs calls with DTensors. The module ``calls`` beside this file sets it, since it imports this file.
runner: dict[str, Callable] = {}
_AS_TENSORS = ("shape size stride ndim dim ndimension numel nelement is_contiguous __len__").split()


class SPMDTensor(DTensor):
    """A DTensor on a mesh that XLA's programs span. See torch.distributed.tensor.DTensor."""

    _mesh: DeviceMesh

    @classmethod
    def __torch_function__(cls, func: Callable, types: Iterable[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        """Run a function on the sharded tensors, and turn its results into DTensors."""
        return runner["run"](func, args, kwargs or {})

    # ------------------------------------------------------------ device, mesh and placements

    @property
    def device(self) -> Any:
        """The type of the mesh's devices; inside functions, the mesh itself."""
        return self._storage.aval.device if state.subclasses_off else interned(self._mesh.device_type)

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh on which the tensor was created; the root mesh, if the tensor is split over other dimensions too."""
        return self._mesh if says_all(spec_of(self), self._mesh) else self._mesh._root

    @property
    def placements(self) -> Placements:
        """The placement on each dimension of the mesh."""
        return placements_of(spec_of(self), self.device_mesh)

    @property
    def _spec(self) -> Layout:      # type: ignore[override]
        return Layout(self.device_mesh, self.placements, tuple(self.shape), tuple(self.stride()))

    # ------------------------------------------------------------ redistribution and conversion

    def redistribute(self, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *,
                     async_op: bool = False, forward_dtype: Any = None, backward_dtype: Any = None) -> DTensor:
        """Return the same tensor with other placements. See torch.distributed.tensor.DTensor.redistribute."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        mesh = device_mesh or self.device_mesh
        if mesh._root != self._mesh._root:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        if forward_dtype is not None or backward_dtype is not None:
            raise NotImplementedError("redistribute: forward_dtype and backward_dtype are not built; convert the tensor")
        wanted = normalized(placements, mesh, self.dim())
        partial = next((p for p in wanted if isinstance(p, Partial)), None)
        if partial is not None:
            now = placements_of(spec_of(self), mesh)[wanted.index(partial)]
            raise RuntimeError(f"Can not redistribute from {now} to {partial}, redistributing to Partial is for internal use "
                               "only!")
        return self._laid(spec_for(wanted, mesh, self.shape, spec_of(self)), mesh)

    def _laid(self, spec: Any, mesh: DeviceMesh) -> SPMDTensor:
        with switched_off():
            made = laid(self, spec)
        return self if made is self else wrapped(made, mesh)

    def _moved(self, wanted: Placements) -> DTensor:
        return self.redistribute(placements=wanted)

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """Return the tensor as a plain tensor on one device, if it is replicated. In a job of several processes, return the
        part of this process's devices.

        Args:
            grad_placements: accepted and ignored, unless they are Partial, which is not built in one process.

        Raises:
            NotImplementedError: the tensor is split, and this process has all parts or its parts are not side by side.

        """
        if self._mesh._own.is_multi_process:
            return _process_parts().part_of(self)
        if any(not isinstance(p, Replicate) for p in self.placements):
            raise NotImplementedError(f"to_local() of a DTensor with placements {self.placements}: its mesh is of one process's "
                                      "devices, so this process has all parts and none is its own. Keep the DTensor, or ask for "
                                      "full_tensor() or redistribute().")
        return self.full_tensor(grad_placements=grad_placements)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """Return the tensor as a plain tensor on one device. See torch.distributed.tensor.DTensor.full_tensor."""
        if any(isinstance(p, Partial) for p in grad_placements or ()):
            raise NotImplementedError("grad_placements: in one process a gradient is never Partial")
        with switched_off():
            return taken(self)

    def _whole(self) -> Tensor:
        return self.detach().full_tensor()

    def _part(self) -> Tensor:
        """Return a copy of the part of this process's devices: the whole, in one process."""
        return _process_parts().copy_of_part(self) if self._mesh._own.is_multi_process else self._whole()

    def _place_of_part(self) -> tuple[list[int], list[int]]:
        """Return the offsets and sizes of the part of this process's devices."""
        if self._mesh._own.is_multi_process:
            return _process_parts().place_of_part(self)
        return [0] * self.dim(), list(self.shape)

    def _take_part(self, part: Tensor) -> None:
        if self._mesh._own.is_multi_process:
            self.data.copy_(_process_parts().from_part(part, self.device_mesh, self.placements))
        else:
            self.data.copy_(distributed(part, self.device_mesh, self.placements))

    @property
    def _local_tensor(self) -> Tensor:
        return self.to_local()

    # ------------------------------------------------------------ gradients and history

    @property
    def grad(self) -> Any:
        """The gradient, with the tensor's sharding."""
        with switched_off():
            g = _GRAD.__get__(self)
        if g is not None and not isinstance(g, DTensor):
            keep_laid(g._storage, spec_of(self))
            wrapped(g, self._mesh)
        return g

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None and not isinstance(value, DTensor):
            raise RuntimeError("assigned grad of a DTensor has to be a DTensor")
        with switched_off():
            _GRAD.__set__(self, value)

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def data(self) -> Any:
        """A DTensor of the same memory without history."""
        with switched_off():
            return wrapped(as_subclass(_DATA.__get__(self), Tensor), self._mesh)

    @data.setter
    def data(self, value: Any) -> None:
        with switched_off():
            _DATA.__set__(self, value)

    def detach(self) -> SPMDTensor:
        """Return a DTensor of the same memory without history."""
        return self.data

    def backward(self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
                 inputs: Any = None) -> None:
        """See torch.Tensor.backward."""
        with switched_off():
            Tensor.backward(self, gradient, retain_graph, create_graph, inputs)

    def register_hook(self, hook: Callable) -> Any:
        """See torch.Tensor.register_hook."""
        mesh = self._mesh

        def with_dtensor(g: Tensor) -> Any:
            return hook(wrapped(as_subclass(g, Tensor), mesh))
        with switched_off():
            return _REGISTER_HOOK(self, with_dtensor)

    def _backward_from(self, gradient: Any) -> tuple[Tensor, Tensor | None]:
        return self, gradient

    def _show_gradient(self, g: Tensor) -> Any:
        return self._adopt(g) if is_on_mesh(g) else g

    def __repr__(self, **kwargs: Any) -> str:      # type: ignore[override]
        return f"DTensor(full_tensor={self._whole()}, device_mesh={self.device_mesh}, placements={self.placements})"

    # ------------------------------------------------------------ parameters, copies and pickling

    def _as_parameter(self, requires_grad: bool) -> Any:
        return marked(wrapped(self.data, self._mesh), True).requires_grad_(requires_grad)

    def _adopt(self, t: Tensor) -> Tensor:
        """Return an optimizer state of this shape as a DTensor with this parameter's sharding."""
        if isinstance(t, DTensor) or t.dim() == 0 or t.shape != self.shape:
            return t
        if not is_on_mesh(t):
            t = brought(t, self._storage.aval.device, spec_of(self))
        keep_laid(t._storage, spec_of(self))
        return wrapped(t, self._mesh)

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            made = wrapped(self.data.clone(), self._mesh)      # type: ignore[attr-defined]
            memo[id(self)] = marked(made, self._is_parameter).requires_grad_(self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (self._whole(), self.device_mesh, self.placements, self._is_parameter, self.requires_grad)


for _name in _AS_TENSORS:
    setattr(SPMDTensor, _name, Tensor.__dict__[_name])
_GRAD, _DATA, _REGISTER_HOOK = Tensor.__dict__["grad"], Tensor.__dict__["data"], Tensor.register_hook      # type: ignore[attr-defined]


def _process_parts() -> Any:
    return importlib.import_module("jtorch._parallel.spmd.process_parts")


def wrapped(t: Tensor, mesh: DeviceMesh) -> Any:
    """Turn ``t``, a tensor on a mesh without other references, into a DTensor.

    The first call makes hand-written functions call ``__torch_function__`` too.
    """
    if not runner:
        importlib.import_module("jtorch._parallel.spmd.calls")
        intercept_written()
    made: Any = t
    made.__class__ = SPMDTensor
    made._mesh = mesh
    return made


def distributed(t: Tensor, mesh: DeviceMesh, placements: Placements) -> SPMDTensor:
    """Shard a plain tensor over a mesh that XLA's programs span; gradients flow back to it."""
    if isinstance(t, DTensor):
        return t.redistribute(mesh, placements)     # type: ignore[return-value]
    if t.is_meta:
        raise NotImplementedError("A tensor on the meta device cannot be split over one process's devices: make its elements "
                                  "first, with to_empty() say")
    spec = spec_for(normalized(placements, mesh, t.dim()), mesh, t.shape)
    with switched_off():
        return wrapped(brought(t, of_mesh(mesh._own), spec), mesh)


def _rebuilt(whole: Tensor, mesh: DeviceMesh, placements: Placements, is_parameter: bool, requires_grad: bool) -> Tensor:
    made = distributed(whole, mesh, placements)
    return marked(wrapped(made, mesh), is_parameter).requires_grad_(requires_grad)


__all__ = ["Parameter", "SPMDTensor", "distributed", "wrapped"]
