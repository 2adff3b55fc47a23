"""fully_shard on a mesh that XLA's programs span: parameters are sharded, and replicated for a module's forward.

The loss is that of the whole batch. So gradients equal those of one device, and nothing is averaged. XLA's partitioner inserts
the gathers and reductions.
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
    """A sharded parameter, and the modules that hold it."""

    inner = None

    def __init__(self, module: Module, name: str, mesh: DeviceMesh, dim: int | None):
        self.places, self.mesh = [(module, name)], mesh
        given: Any = module._parameters[name]
        cut = _dim_to_cut(given, mesh) if dim is None else dim
        placements = (*[Replicate()] * (mesh.ndim - 1), Replicate() if cut is None else Shard(cut))
        self.put(Parameter(distributed(given.detach(), mesh, placements), given.requires_grad))

    def whole(self, sharded: SPMDTensor, dtype: Any) -> Any:
        """Return the parameter replicated over this mesh. Splits over other mesh dimensions (tensor parallelism) stay."""
        everywhere = (Replicate(),) * self.mesh.ndim
        made = sharded._laid(spec_for(everywhere, self.mesh, sharded.shape, spec_of(sharded)), sharded._mesh)
        return made if dtype is None else made.to(dtype)      # type: ignore[attr-defined]


def spread_buffers(modules: list[Module], mesh: DeviceMesh) -> None:
    """Replace the buffers of modules by replicated DTensors, since parameters and inputs are DTensors."""
    for module in modules:
        for name, b in module._buffers.items():
            if b is not None and not isinstance(b, DTensor):
                module._buffers[name] = distributed(b, mesh, (Replicate(),) * mesh.ndim)


def _dim_to_cut(t: Tensor, mesh: DeviceMesh) -> int | None:
    """Return the first dim that the mesh splits evenly; None if there is none."""
    have = part_sizes(t.shape, spec_of(t), mesh) if isinstance(t, DTensor) else tuple(t.shape)
    return next((d for d, n in enumerate(have) if n and not n % mesh.size(mesh.ndim - 1)), None)


class SPMDGroup:
    """Parameters that are gathered together, and the conversion of their module's inputs and outputs."""

    sync = all_reduce = True        # Setting these has no effect: a gradient is always that of the whole batch.

    def __init__(self, params: list[SPMDParameter], mesh: DeviceMesh, policy: MixedPrecisionPolicy):
        self.params, self.mesh, self.policy = params, mesh, policy
        self.gives_plain = False
        self.resident: list[Any] | None = None

    def gathered(self, sharded: list[SPMDTensor]) -> list[Any]:
        """Return the whole parameters of shards."""
        return [p.whole(s, self.policy.param_dtype) for p, s in zip(self.params, sharded, strict=True)]

    def whole_at(self, at: int) -> Any:
        """Gather one parameter again for a backward."""
        with no_grad():
            return self.params[at].whole(self.params[at].sharded, self.policy.param_dtype)

    def values(self, exact: bool = False) -> list[Any]:
        """Return the whole parameters without gradients; with ``exact`` in their own dtypes."""
        with no_grad():
            return [p.whole(p.sharded, None if exact else self.policy.param_dtype) for p in self.params]

    def grads(self) -> list[Any]:
        """Return the whole gradients; None for parameters without one."""
        with no_grad():
            return [None if p.sharded.grad is None else p.whole(p.sharded.grad, None) for p in self.params]

    def placeable(self, at: int, whole: Any) -> Any:
        """Return a whole parameter as the modules need it."""
        return whole

    def write_back(self, with_grads: bool = False) -> None:
        """Write the gathered parameters, which the modules hold now, to the shards; with ``with_grads`` their gradients too."""
        for p in self.params:
            p.sharded.copy_(p.placed.detach())
            if with_grads:
                g, old = p.placed.grad, p.sharded.grad
                p.sharded.grad = g if g is None or old is None else old.copy_(g)

    def convert_inputs(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Convert a module's plain inputs to DTensors, split along their first dim if it divides evenly."""
        given = [t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor)]
        self.gives_plain = bool(given) and not any(isinstance(t, DTensor) for t in given)
        return tree_map(self._spread, (args, kwargs))

    def _spread(self, x: Any) -> Any:
        if not isinstance(x, Tensor) or isinstance(x, DTensor):
            return x
        splits = x.dim() and is_even(x.shape[0], self.mesh)
        return distributed(x, self.mesh, (Shard(0) if splits else Replicate(),) * self.mesh.ndim)

    def convert_outputs(self, output: Any) -> Any:
        """Convert a module's outputs to plain tensors, if its inputs were plain."""
        if not self.gives_plain:
            return output
        return tree_map(lambda x: x.full_tensor() if isinstance(x, DTensor) else x, output)

    @property
    def divide_factor(self) -> Any:
        """None, since nothing is divided."""
        return None

    @divide_factor.setter
    def divide_factor(self, factor: float) -> None:
        raise NotImplementedError("set_gradient_divide_factor: over one process's devices nothing is divided; scale the loss")
