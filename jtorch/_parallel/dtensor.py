"""DTensor: a tensor that is sharded over ranks. See torch.distributed.tensor.DTensor.

The object is a tensor that holds this rank's shard: its memory, history and gradient. It reports the shape of the whole
tensor, and functions on it run by ``calls``.
"""
from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jtorch._api.torch_function import as_subclass, intercept_written, switched_off
from jtorch._base.size import of as size_of
from jtorch._parallel.layout import (
    Layout,
    Placements,
    contiguous_stride,
    normalized,
    of_gradient,
    whole_shape,
    whole_stride,
)
from jtorch._parallel.placements import Partial, Placement, Replicate, Shard, _StridedShard
from jtorch._parallel.redistribute import (
    broadcast_from_first,
    redistribute,
    redistribute_without_gradient,
    with_gradient_placed,
)
from jtorch.distributed.device_mesh import DeviceMesh, current_mesh
from jtorch.serialization.weights_only import add_safe_globals
from jtorch.tensor import Tensor

# ``runner["run"]`` runs calls with DTensors. The module ``calls`` beside this file sets it, since it imports this file.
runner: dict[str, Callable] = {}


class DTensor(Tensor):
    """A tensor that is sharded over the ranks of a mesh. See torch.distributed.tensor.DTensor.

    ``distribute_tensor``, ``DTensor.from_local`` and functions of DTensors make DTensors.

    >>> from jtorch.distributed.tensor import Shard
    >>> mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
    >>> x = torch.distributed.tensor.distribute_tensor(torch.arange(8.), mesh, [Shard(0)])
    >>> (x * 2).sum().full_tensor()
    tensor(56.)

    """

    _spec: Layout
    # Defining the class lets no hand-written function call __torch_function__. ``wrapped`` does, once there is a DTensor.
    _asked_by_all = False

    @classmethod
    def __torch_function__(cls, func: Callable, types: Iterable[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        """Run a function on the ranks' shards."""
        return runner["run"](func, args, kwargs or {})

    # ------------------------------------------------------------ conversion to and from shards

    @staticmethod
    def from_local(local_tensor: Tensor, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *,
                   run_check: bool = False, shape: Any = None, stride: Any = None,
                   grad_placements: Sequence[Placement] | None = None) -> DTensor:
        """Return the DTensor whose shard on this rank is ``local_tensor``. See torch.distributed.tensor.DTensor.from_local.

        Args:
            local_tensor: this rank's shard.
            device_mesh: the mesh; the current one, if None.
            placements: one placement for each dimension of the mesh; replicated on all, if None.
            run_check: whether the first rank's tensor replaces those of the others along replicated dimensions.
            shape: the shape of the whole tensor, needed for shards of different sizes; computed from even shards, if None.
            stride: the strides of the whole tensor; given if and only if ``shape`` is.
            grad_placements: the placements of the gradient that flows back to ``local_tensor``.

        Returns:
            The DTensor; gradients flow back to ``local_tensor``.

        """
        if isinstance(local_tensor, DTensor):
            raise RuntimeError(f"the local_tensor argument only accepts torch.Tensor but got {type(local_tensor)} value.")
        if bool(shape) != bool(stride):
            raise RuntimeError(f"Found shape:{shape}, stride:{stride}.", "Please pass both shape and stride at the same time.")
        mesh = device_mesh or current_mesh()
        given = normalized(placements, mesh, local_tensor.dim())
        if mesh._own is not None:
            return _from_local_on_devices(local_tensor, mesh, given)
        local_tensor = on_devices_of(mesh, local_tensor)
        whole = tuple(shape) if shape else whole_shape(local_tensor.shape, mesh, given)
        steps = tuple(stride) if stride else whole_stride(local_tensor.stride(), whole)
        if mesh.get_coordinate() is None:       # This rank is not in the mesh and has no shard.
            local_tensor, run_check = local_tensor.new_empty(0, requires_grad=local_tensor.requires_grad), False    # type: ignore[attr-defined]
        if run_check:
            local_tensor = broadcast_from_first(local_tensor, mesh, given)
        if grad_placements is not None:
            local_tensor = with_gradient_placed(local_tensor, lambda g: redistribute(
                g, mesh, whole, of_gradient(given), normalized(grad_placements, mesh, len(whole))))
        return wrapped(as_subclass(local_tensor, Tensor), Layout(mesh, given, whole, steps))

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """Return this rank's shard. See torch.distributed.tensor.DTensor.to_local.

        Args:
            grad_placements: the placements of the gradient that flows back; those of the tensor, if None.

        """
        local, spec = local_of(self), self._spec
        if grad_placements is None:
            return local
        given = normalized(grad_placements, spec.mesh, len(spec.shape))
        return with_gradient_placed(local, lambda g: redistribute(g, spec.mesh, spec.shape, given, of_gradient(spec.placements)))

    @property
    def _local_tensor(self) -> Tensor:
        return local_of(self)

    def redistribute(self, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *,
                     async_op: bool = False, forward_dtype: Any = None, backward_dtype: Any = None) -> DTensor:
        """Return the same tensor with other placements. See torch.distributed.tensor.DTensor.redistribute.

        Args:
            device_mesh: the tensor's mesh; another is not built.
            placements: one placement for each dimension of the mesh.
            async_op: accepted; the call waits in any case.
            forward_dtype: not built.
            backward_dtype: not built.

        Returns:
            The DTensor; gradients flow back through the redistribution.

        Raises:
            RuntimeError: no placements, or a Partial placement that the tensor does not have.
            NotImplementedError: another mesh, or a dtype.

        """
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        spec = self._spec
        if device_mesh is not None and device_mesh != spec.mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        if forward_dtype is not None or backward_dtype is not None:
            raise NotImplementedError("redistribute: forward_dtype and backward_dtype are not built; convert the tensor")
        wanted = normalized(placements, spec.mesh, len(spec.shape))
        for p, now in zip(wanted, spec.placements, strict=True):
            if isinstance(p, Partial) and p != now:
                raise RuntimeError(f"Can not redistribute from {now} to {p}, redistributing to Partial is for internal use only!")
        return moved(self, wanted)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """Return the whole tensor on each rank. See torch.distributed.tensor.DTensor.full_tensor."""
        whole = moved(self, (Replicate(),) * self._spec.mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)

    def _moved(self, wanted: Placements) -> DTensor:
        spec = self._spec
        if spec.placements == wanted:
            return self
        local = redistribute(local_of(self), spec.mesh, spec.shape, spec.placements, wanted)
        return wrapped(local, Layout(spec.mesh, wanted, spec.shape, spec.stride))

    def _whole(self) -> Tensor:
        spec, everywhere = self._spec, (Replicate(),) * self._spec.mesh.ndim
        return redistribute_without_gradient(local_of(self).detach(), spec.mesh, spec.shape, spec.placements, everywhere)

    def _part(self) -> Tensor:
        """Return the shard that this rank writes to a checkpoint, or reads from one."""
        return local_of(self).detach()      # type: ignore[attr-defined]

    def _take_part(self, part: Tensor) -> None:
        """Do nothing: the checkpoint was read into the memory that ``_part`` returned."""

    # ------------------------------------------------------------ mesh, placements and shape

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self._spec.mesh

    @property
    def placements(self) -> Placements:
        """The placement on each dimension of the mesh."""
        return self._spec.placements

    @property
    def shape(self) -> Any:
        """The size of the whole tensor."""
        return size_of(self._spec.shape)

    def size(self, dim: int | None = None) -> Any:
        """Return the size of the whole tensor, or of one dim."""
        return self.shape if dim is None else self._spec.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        """Return the strides of the whole tensor, or of one dim."""
        return self._spec.stride if dim is None else self._spec.stride[dim]

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self._spec.shape)

    def dim(self) -> int:
        """Return the number of dims."""
        return len(self._spec.shape)

    ndimension = dim

    def numel(self) -> int:
        """Return the number of elements of the whole tensor."""
        return self.shape.numel()

    nelement = numel

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Return whether the strides of the whole tensor are contiguous."""
        return self._spec.stride == contiguous_stride(self._spec.shape)

    def __len__(self) -> int:
        if not self._spec.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._spec.shape[0]

    def __repr__(self, **kwargs: Any) -> str:      # type: ignore[override]
        local = local_of(self.detach() if self.is_leaf else self)
        return f"DTensor(local_tensor={local}, device_mesh={self._spec.mesh}, placements={self._spec.placements})"

    # ------------------------------------------------------------ gradients

    @property
    def grad(self) -> Any:
        """The gradient, with the tensor's placements."""
        with switched_off():
            g = _GRAD.__get__(self)
        if g is not None and not isinstance(g, DTensor):
            g.__class__ = DTensor
            g._spec = self._spec_of_gradient()
        return g

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None and not isinstance(value, DTensor):
            raise RuntimeError("assigned grad of a DTensor has to be a DTensor")
        if value is not None and value._spec.shape != self._spec.shape:
            raise RuntimeError(f"assigned grad has data of a different size: {value.shape} for {self.shape}")
        if value is not None and value._spec.placements != of_gradient(self._spec.placements):
            value = moved(value, of_gradient(self._spec.placements))
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def backward(self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
                 inputs: Any = None) -> None:
        """See torch.Tensor.backward."""
        start, given = self._backward_from(gradient)
        with switched_off():
            Tensor.backward(start, given, retain_graph, create_graph, inputs)

    def _backward_from(self, gradient: Any) -> tuple[Tensor, Tensor | None]:
        to = moved(self, of_gradient(self._spec.placements))
        return local_of(to), None if gradient is None else local_of(moved(gradient, to._spec.placements))

    def _show_gradient(self, g: Tensor) -> DTensor:
        return wrapped(as_subclass(g, Tensor), self._spec_of_gradient())

    def _spec_of_gradient(self) -> Layout:
        return Layout(self._spec.mesh, of_gradient(self._spec.placements), self._spec.shape, self._spec.stride)

    def register_hook(self, hook: Callable) -> Any:
        """See torch.Tensor.register_hook."""
        def with_parts(g: Tensor) -> Any:
            made = hook(self._show_gradient(g))
            return None if made is None else local_of(moved(made, of_gradient(self._spec.placements)))
        with switched_off():
            return _REGISTER_HOOK(self, with_parts)

    # ------------------------------------------------------------ parameters, copies and pickling

    def _as_parameter(self, requires_grad: bool) -> DTensor:
        return marked(wrapped(local_of(self).detach(), self._spec), True).requires_grad_(requires_grad)

    def _adopt(self, t: Tensor) -> Tensor:
        """Return an optimizer state of the shard's shape as a DTensor with this parameter's placements."""
        if type(t) is not Tensor or t.dim() == 0 or t.shape != local_of(self).shape:
            return t
        return wrapped(t, self._spec)

    @property
    def data(self) -> Any:
        """A DTensor of the same memory without history."""
        return wrapped(local_of(self).detach(), self._spec)

    @data.setter
    def data(self, value: Any) -> None:
        with switched_off():
            self._set_data(local_of(value))
        self._spec = value._spec

    def detach(self) -> DTensor:
        """Return a DTensor of the same memory without history."""
        return self.data

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            made = wrapped(local_of(self).detach().clone(), self._spec)
            memo[id(self)] = marked(made, self._is_parameter).requires_grad_(self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (local_of(self).detach(), self._spec, self._is_parameter, self.requires_grad)


_GRAD, _REGISTER_HOOK = Tensor.__dict__["grad"], Tensor.register_hook      # type: ignore[attr-defined]


def marked(t: Any, is_parameter: bool) -> Any:
    """Make ``isinstance(t, Parameter)`` true, if ``is_parameter``. The class stays DTensor, as in PyTorch."""
    if is_parameter:
        t._is_param = t._is_parameter = True
    return t


def _rebuilt(local: Tensor, spec: Layout, is_parameter: bool, requires_grad: bool) -> Tensor:
    return marked(wrapped(local, spec), is_parameter).requires_grad_(requires_grad)


def wrapped(local: Tensor, spec: Layout) -> Any:
    """Turn ``local``, a tensor without other references, into a DTensor.

    The first call makes hand-written functions call ``__torch_function__`` too.
    """
    if not runner:
        importlib.import_module("jtorch._parallel.calls")
        intercept_written()
    made: Any = local
    made.__class__ = DTensor
    made._spec = spec
    return made


def on_devices_of(mesh: DeviceMesh, t: Tensor) -> Tensor:
    """Return a tensor on this rank's device of a mesh; a meta tensor unchanged."""
    return t if t.is_meta or t.device.type == mesh.device_type else t.to(mesh.device_type)       # type: ignore[attr-defined]


def _from_local_on_devices(t: Tensor, mesh: DeviceMesh, placements: Placements) -> DTensor:
    """Return what ``from_local`` gives for a mesh that XLA's programs span.

    If the mesh has one process's devices, NotImplementedError for placements that are not replicated.
    """
    if mesh._own.is_multi_process:
        return importlib.import_module("jtorch._parallel.spmd.process_parts").from_part(t, mesh, placements)
    if not all(isinstance(p, Replicate) for p in placements):
        raise NotImplementedError(f"DTensor.from_local with placements {placements}: it is one process's devices, and none "
                                  "of them is its own. distribute_tensor() splits a whole tensor.")
    return importlib.import_module("jtorch._parallel.spmd.dtensor").distributed(t, mesh, placements)


def local_of(t: Any) -> Tensor:
    """Return this rank's shard of a DTensor; other tensors unchanged."""
    if not isinstance(t, DTensor):
        return t
    with switched_off():
        return as_subclass(t, Tensor)


def moved(t: DTensor, wanted: Placements) -> DTensor:
    """Return the same tensor with other placements."""
    return t._moved(wanted)


# Checkpoints of DTensors contain these names.
add_safe_globals([_rebuilt, Layout, DeviceMesh, Shard, Replicate, Partial, _StridedShard])
