"""DTensor: a tensor of which each rank holds a part. See torch.distributed.tensor.DTensor.

The object is this rank's part, as any tensor is: it has the part's memory, history and gradient. What differs is what it
says about itself, and that functions are run by ``calls``.
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
from jtorch.tensor import Parameter, Tensor

# Runs a function some of whose arguments are DTensors: filled by ``calls``, which needs the class.
runner: dict[str, Callable] = {}


class DTensor(Tensor):
    """A tensor of which each rank of a mesh holds a part. See torch.distributed.tensor.DTensor.

    Made by ``distribute_tensor``, ``DTensor.from_local`` and by functions of DTensors.

        >>> x = distribute_tensor(torch.arange(8.), mesh, [Shard(0)])       # doctest: +SKIP
        >>> (x * 2).sum().full_tensor()                                     # doctest: +SKIP

    """

    _spec: Layout
    _asked_by_all = False       # only once there is one: see ``wrapped``

    @classmethod
    def __torch_function__(cls, func: Callable, types: Iterable[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        """Runs a function on the ranks' parts."""
        return runner["run"](func, args, kwargs or {})

    # ------------------------------------------------------------ to and from parts

    @staticmethod
    def from_local(local_tensor: Tensor, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *,
                   run_check: bool = False, shape: Any = None, stride: Any = None,
                   grad_placements: Sequence[Placement] | None = None) -> DTensor:
        """The DTensor of which this is the rank's part. See torch.distributed.tensor.DTensor.from_local."""
        if isinstance(local_tensor, DTensor):
            raise RuntimeError(f"the local_tensor argument only accepts torch.Tensor but got {type(local_tensor)} value.")
        if bool(shape) != bool(stride):
            raise RuntimeError(f"Found shape:{shape}, stride:{stride}.", "Please pass both shape and stride at the same time.")
        mesh = device_mesh or current_mesh()
        given = normalized(placements, mesh, local_tensor.dim())
        if mesh._own is not None:
            return _of_own_parts(local_tensor, mesh, given)
        whole = tuple(shape) if shape else whole_shape(local_tensor.shape, mesh, given)
        steps = tuple(stride) if stride else whole_stride(local_tensor.stride(), whole)
        if mesh.get_coordinate() is None:       # this rank has none of it
            local_tensor, run_check = local_tensor.new_empty(0, requires_grad=local_tensor.requires_grad), False    # type: ignore[attr-defined]
        if run_check:
            local_tensor = broadcast_from_first(local_tensor, mesh, given)
        if grad_placements is not None:
            local_tensor = with_gradient_placed(local_tensor, lambda g: redistribute(
                g, mesh, whole, of_gradient(given), normalized(grad_placements, mesh, len(whole))))
        return wrapped(as_subclass(local_tensor, Tensor), Layout(mesh, given, whole, steps))

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """This rank's part. See torch.distributed.tensor.DTensor.to_local."""
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
        """The same tensor with other placements. See torch.distributed.tensor.DTensor.redistribute."""
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
        """All of it, on each rank. See torch.distributed.tensor.DTensor.full_tensor."""
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
        """What this rank writes to a checkpoint, and reads from one."""
        return local_of(self).detach()      # type: ignore[attr-defined]

    def _take_part(self, part: Tensor) -> None:
        """Takes what was read into what ``_part`` has given: that is the same memory."""

    # ------------------------------------------------------------ what it says about itself

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self._spec.mesh

    @property
    def placements(self) -> Placements:
        """How it lies on each dimension of the mesh."""
        return self._spec.placements

    @property
    def shape(self) -> Any:
        """The size of all of it."""
        return size_of(self._spec.shape)

    def size(self, dim: int | None = None) -> Any:
        """The size of all of it, or of one dim."""
        return self.shape if dim is None else self._spec.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        """The strides of all of it."""
        return self._spec.stride if dim is None else self._spec.stride[dim]

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self._spec.shape)

    def dim(self) -> int:
        """The number of dims."""
        return len(self._spec.shape)

    ndimension = dim

    def numel(self) -> int:
        """The number of elements of all of it."""
        return self.shape.numel()

    nelement = numel

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether all of it were contiguous."""
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
        """The gradient, which lies as the tensor does."""
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

    # ------------------------------------------------------------ as an object

    def _as_parameter(self, requires_grad: bool) -> DTensor:
        made = wrapped(local_of(self).detach(), self._spec, DTensorParameter)
        return made.requires_grad_(requires_grad)

    def _adopt(self, t: Tensor) -> Tensor:
        """An optimizer's state for this parameter lies as it does."""
        if type(t) is not Tensor or t.dim() == 0 or t.shape != local_of(self).shape:
            return t
        return wrapped(t, self._spec)

    @property
    def data(self) -> Any:
        """The same memory without history."""
        return wrapped(local_of(self).detach(), self._spec)

    @data.setter
    def data(self, value: Any) -> None:
        with switched_off():
            _DATA.__set__(self, local_of(value))
        self._spec = value._spec

    def detach(self) -> DTensor:
        """The same memory without history."""
        return self.data

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            made = wrapped(local_of(self).detach().clone(), self._spec, type(self))
            memo[id(self)] = made.requires_grad_(self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (local_of(self).detach(), self._spec, type(self) is DTensorParameter, self.requires_grad)


_GRAD, _DATA, _REGISTER_HOOK = Tensor.__dict__["grad"], Tensor.__dict__["data"], Tensor.register_hook      # type: ignore[attr-defined]


class DTensorParameter(DTensor, Parameter):
    """A DTensor that modules register as theirs."""

    def __new__(cls, data: DTensor, requires_grad: bool = True) -> Any:
        return data._as_parameter(requires_grad)


def _rebuilt(local: Tensor, spec: Layout, is_parameter: bool, requires_grad: bool) -> Tensor:
    return wrapped(local, spec, DTensorParameter if is_parameter else DTensor).requires_grad_(requires_grad)


def wrapped(local: Tensor, spec: Layout, cls: type = DTensor) -> Any:
    """``local``, which nobody else has, as a DTensor. From the first on, functions written by hand ask for DTensors."""
    if not runner:
        importlib.import_module("jtorch._parallel.calls")
        intercept_written()
    made: Any = local
    made.__class__ = cls
    made._spec = spec
    return made


def _of_own_parts(t: Tensor, mesh: DeviceMesh, placements: Placements) -> DTensor:
    """What ``from_local`` gives in one process, where no part is this process's own: only what all devices have is clear."""
    if not all(isinstance(p, Replicate) for p in placements):
        raise NotImplementedError(f"DTensor.from_local with placements {placements}: it is one process's devices, and none "
                                  "of them is its own. distribute_tensor() splits a whole tensor.")
    return importlib.import_module("jtorch._parallel.spmd.dtensor").distributed(t, mesh, placements)


def local_of(t: Any) -> Tensor:
    """This rank's part of a DTensor; another tensor itself."""
    if not isinstance(t, DTensor):
        return t
    with switched_off():
        return as_subclass(t, Tensor)


def moved(t: DTensor, wanted: Placements) -> DTensor:
    """The same tensor with other placements."""
    return t._moved(wanted)


add_safe_globals([_rebuilt, Layout, DeviceMesh, Shard, Replicate, Partial, _StridedShard])        # what files of DTensors name
