"""fully_shard over this process's devices: parameters lie in parts, and are laid out whole for a module's forward.

What differs from several processes: a loss is of the whole batch, so gradients are what one device alone would compute, and
nothing is to be averaged; XLA's partitioner makes gathers and reductions of what is laid out otherwise.
"""
from __future__ import annotations

from typing import Any

from jtorch._api.meshes import spec_of
from jtorch._base.pytree import flatten, tree_map
from jtorch._parallel.dtensor import DTensor
from jtorch._parallel.fsdp.group import ShardedParameter
from jtorch._parallel.fsdp.policies import MixedPrecisionPolicy
from jtorch._parallel.placements import Replicate, Shard
from jtorch._parallel.spmd.dtensor import SPMDTensor, distributed
from jtorch._parallel.spmd.layout import is_even, part_sizes, spec_for
from jtorch.distributed.device_mesh import DeviceMesh
from jtorch.nn.modules.module import Module
from jtorch.no_grad import no_grad
from jtorch.tensor import Parameter, Tensor


class SPMDParameter(ShardedParameter):
    """Where a parameter is, and how it lies."""

    inner = None

    def __init__(self, module: Module, name: str, mesh: DeviceMesh, dim: int | None):
        self.places, self.mesh = [(module, name)], mesh
        given: Any = module._parameters[name]
        cut = _dim_to_cut(given, mesh) if dim is None else dim
        placements = (*[Replicate()] * (mesh.ndim - 1), Replicate() if cut is None else Shard(cut))
        self.put(Parameter(distributed(given.detach(), mesh, placements), given.requires_grad))

    def whole(self, sharded: SPMDTensor, dtype: Any) -> Any:
        """A parameter that no device has only a part of, but for parts of tensor parallel layers."""
        everywhere = (Replicate(),) * self.mesh.ndim
        made = sharded._laid(spec_for(everywhere, self.mesh, sharded.shape, spec_of(sharded)), sharded._mesh)
        return made if dtype is None else made.to(dtype)      # type: ignore[attr-defined]


def spread_buffers(modules: list[Module], mesh: DeviceMesh) -> None:
    """Makes the buffers of modules DTensors that all devices have, as parameters and inputs are DTensors."""
    for module in modules:
        for name, b in module._buffers.items():
            if b is not None and not isinstance(b, DTensor):
                module._buffers[name] = distributed(b, mesh, (Replicate(),) * mesh.ndim)


def _dim_to_cut(t: Tensor, mesh: DeviceMesh) -> int | None:
    """The first dim that can be cut into equal parts; None where there is none."""
    have = part_sizes(t.shape, spec_of(t), mesh) if isinstance(t, DTensor) else tuple(t.shape)
    return next((d for d, n in enumerate(have) if n and not n % mesh.size(mesh.ndim - 1)), None)


class SPMDGroup:
    """Parameters that are laid out whole together, and what their module takes and gives."""

    sync = all_reduce = True        # a gradient here is always the whole batch's

    def __init__(self, params: list[SPMDParameter], mesh: DeviceMesh, policy: MixedPrecisionPolicy):
        self.params, self.mesh, self.policy = params, mesh, policy
        self.gives_plain = False

    def gathered(self, sharded: list[SPMDTensor]) -> list[Any]:
        """The whole parameters of parts."""
        return [p.whole(s, self.policy.param_dtype) for p, s in zip(self.params, sharded, strict=True)]

    def whole_at(self, at: int) -> Any:
        """One of the whole parameters, gathered once more for a backward."""
        with no_grad():
            return self.params[at].whole(self.params[at].sharded, self.policy.param_dtype)

    def taken_in(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """A module's arguments with plain tensors as DTensors, split along their first dim where that can be."""
        given = [t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor)]
        self.gives_plain = bool(given) and not any(isinstance(t, DTensor) for t in given)
        return tree_map(self._spread, (args, kwargs))

    def _spread(self, x: Any) -> Any:
        if not isinstance(x, Tensor) or isinstance(x, DTensor):
            return x
        splits = x.dim() and is_even(x.shape[0], self.mesh)
        return distributed(x, self.mesh, (Shard(0) if splits else Replicate(),) * self.mesh.ndim)

    def given_out(self, output: Any) -> Any:
        """A module's results: plain tensors, if it was given such."""
        if not self.gives_plain:
            return output
        return tree_map(lambda x: x.full_tensor() if isinstance(x, DTensor) else x, output)

    @property
    def divide_factor(self) -> Any:
        """Nothing is divided."""
        return None

    @divide_factor.setter
    def divide_factor(self, factor: float) -> None:
        raise NotImplementedError("set_gradient_divide_factor: over one process's devices nothing is divided; scale the loss")
