"""Groups of parameters that are gathered together, and whose gradients are reduced together."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jtorch.distributed as dist
from jtorch._api.functions import cat, zeros, zeros_like
from jtorch._base.pytree import tree_map
from jtorch._parallel.dtensor import DTensor, local_of, on_devices_of, wrapped
from jtorch._parallel.fsdp.policies import MixedPrecisionPolicy
from jtorch._parallel.layout import Layout, contiguous_stride, part
from jtorch._parallel.placements import Replicate, Shard, _StridedShard
from jtorch._parallel.redistribute import local_shard
from jtorch.autograd.function import Function
from jtorch.distributed.device_mesh import DeviceMesh
from jtorch.nn.modules.module import Module
from jtorch.no_grad import no_grad
from jtorch.tensor import Parameter, Tensor


class ShardedParameter:
    """A sharded parameter: the modules that hold it, its split, and its whole shape."""

    def __init__(self, module: Module, name: str, mesh: DeviceMesh, dim: int):
        self.places, self.dim = [(module, name)], dim
        given: Any = module._parameters[name]
        # The layout over the mesh of tensor parallel, if the parameter is a DTensor already.
        self.inner: Layout | None = given._spec if isinstance(given, DTensor) else None
        whole = local_of(given).detach()
        self.shape = tuple(whole.shape)
        self.group = mesh.get_group(mesh.ndim - 1)
        n = self.group.size()
        if dim and self.shape[dim] % n:
            raise NotImplementedError(f"FSDP does not support uneven sharding on dim {dim}: {self.shape} (world size: {n})")
        self.width = part(self.shape[dim], n, 0)[1]
        self.spec = self._layout(mesh, given)
        mine = local_shard(whole, dim, self.group).clone() if not whole.is_meta else whole.narrow(
            dim, *part(self.shape[dim], n, self.group.rank())).clone()
        self.put(Parameter(wrapped(mine, self.spec), given.requires_grad))      # type: ignore[arg-type]

    def _layout(self, mesh: DeviceMesh, given: Any) -> Layout:
        outer = (Replicate(),) * (mesh.ndim - 1)
        if self.inner is None:
            return Layout(mesh, (*outer, Shard(self.dim)), self.shape, contiguous_stride(self.shape))
        both = mesh._root[(*(mesh.mesh_dim_names or ()), *(self.inner.mesh.mesh_dim_names or ()))]
        nested = [i for i, p in enumerate(self.inner.placements) if isinstance(p, Shard) and p.dim == self.dim]
        ours = _StridedShard(self.dim, math.prod([self.inner.mesh.size(i) for i in nested])) if nested else Shard(self.dim)
        return Layout(both, (*outer, ours, *self.inner.placements), self.inner.shape, self.inner.stride)

    shard: Any = None       # The shard while the whole parameter is in its place.

    def put(self, t: Any) -> None:
        """Set the tensor that the modules have under this parameter's name."""
        for module, name in self.places:
            module._parameters[name] = t

    def put_whole(self, t: Any) -> None:
        """Put the whole parameter in the place of the shard."""
        self.shard = self.sharded
        self.put(t)

    def put_shard(self) -> None:
        """Put the shard back in its place."""
        if self.shard is not None:
            self.put(self.shard)
            self.shard = None

    @property
    def placed(self) -> Any:
        """The tensor that the modules have now: the shard, or the whole parameter."""
        module, name = self.places[0]
        return module._parameters[name]

    @property
    def sharded(self) -> Any:
        """The shard, which is the parameter that users see outside of forwards."""
        return self.placed if self.shard is None else self.shard

    @property
    def dtype(self) -> Any:
        """The dtype of the tensor that the modules hold now. Conversions of the module change it."""
        return self.sharded.dtype

    def elements(self) -> int:
        """Return the number of elements that each rank sends, with padding."""
        return self.width * math.prod([n for d, n in enumerate(self.shape) if d != self.dim])

    def flat(self, local: Tensor, dtype: Any) -> Tensor:
        """Return a shard as a flat tensor, padded to the size of the largest shard."""
        return self._padded(local, self.width).reshape(-1).to(dtype or self.dtype)

    def _padded(self, t: Tensor, size: int) -> Tensor:
        """Return a tensor with zeros after its elements, up to ``size`` along the sharded dim."""
        missing = size - t.shape[self.dim]
        if not missing:
            return t
        more = [missing if d == self.dim else n for d, n in enumerate(self.shape)]
        return cat([t, zeros(more, dtype=t.dtype, device=t.device)], self.dim)

    def joined(self, rows: Tensor) -> Tensor:
        """Return the whole parameter from rows of shape (ranks, elements)."""
        shape = [self.width if d == self.dim else n for d, n in enumerate(self.shape)]
        if self.dim == 0:
            return rows.reshape(rows.shape[0] * self.width, *self.shape[1:])[:self.shape[0]].contiguous()
        return cat([row.view(shape) for row in rows.unbind(0)], self.dim)

    def rows(self, g: Tensor) -> Tensor:
        """Return a whole gradient as rows of shape (ranks, elements), one for each rank."""
        n = self.group.size()
        g = self._padded(g, self.width * n)
        return g.reshape(n, -1) if self.dim == 0 else cat([p.reshape(1, -1) for p in g.chunk(n, self.dim)])

    def cut(self, flat: Tensor) -> Tensor:
        """Return this rank's shard of a gradient, without the padding."""
        length = part(self.shape[self.dim], self.group.size(), self.group.rank())[1]
        shape = [self.width if d == self.dim else n for d, n in enumerate(self.shape)]
        return flat.view(shape).narrow(self.dim, 0, length)


class ParameterGroup:
    """Parameters that are gathered together. ``sync`` says whether a backward reduces gradients or keeps them whole."""

    def __init__(self, params: list[ShardedParameter], mesh: DeviceMesh, policy: MixedPrecisionPolicy):
        self.params, self.mesh, self.policy = params, mesh, policy
        self.sync = self.all_reduce = True
        self.divide_factor: float | None = None
        self.after_backward: Callable[[], None] = lambda: None      # Called when a backward has the gradients of all parameters.
        self.whole: list[Tensor] | None = None          # The parameters that a backward has gathered, or None.
        self.resident: list[Tensor] | None = None       # The gathered parameters that later forwards use too, or None.
        self.kept: list[Tensor | None] = [None] * len(params)       # Gradients that wait for a backward that reduces.

    @property
    def shard_group(self) -> Any:
        """The ranks over which parameters are sharded."""
        return self.mesh.get_group(self.mesh.ndim - 1)

    def gather(self, locals_: list[Any], exact: bool = False) -> list[Tensor]:
        """Return the whole parameters in the dtype of forwards; with ``exact`` in their own dtypes."""
        n, dtype = self.shard_group.size(), None if exact else self.policy.param_dtype
        made: list[Any] = [None] * len(self.params)
        for kind in dict.fromkeys([dtype or p.dtype for p in self.params]):
            chosen = [i for i, p in enumerate(self.params) if (dtype or p.dtype) is kind]
            flat = cat([self.params[i].flat(locals_[i].detach(), kind) for i in chosen])
            rows = zeros((n, flat.numel()), dtype=kind, device=flat.device)
            dist.all_gather_into_tensor(rows, flat, self.shard_group)
            pieces = rows.split([self.params[i].elements() for i in chosen], 1)
            for i, piece in zip(chosen, pieces, strict=True):
                made[i] = self.params[i].joined(piece)
        return made

    def write_back(self, with_grads: bool = False) -> None:
        """Write this rank's parts of the gathered parameters, which the modules hold now, to the shards; with ``with_grads``
        those of the gradients too.
        """
        rank = self.shard_group.rank()
        for p in self.params:
            own, whole = local_of(p.sharded), local_of(p.placed)
            own.copy_(p.cut(p.rows(whole.detach().to(own))[rank]))
            if with_grads:
                g = whole.grad
                p.sharded.grad = None if g is None else wrapped(p.cut(p.rows(local_of(g).to(own))[rank]), p.spec)

    def reduce(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        """Return this rank's shards of the ranks' summed gradients, divided by the number of ranks or by ``divide_factor``."""
        used = [i for i, g in enumerate(grads) if g is not None]
        made: list[Tensor | None] = [None] * len(grads)
        for kind in dict.fromkeys([self._reduced_in(grads[i]) for i in used]):
            chosen = [i for i in used if self._reduced_in(grads[i]) is kind]
            rows = cat([self.params[i].rows(grads[i].to(kind)) for i in chosen], 1)      # type: ignore[union-attr]
            flat = self._over_ranks(rows)
            for i, piece in zip(chosen, flat.split([self.params[i].elements() for i in chosen]), strict=True):
                made[i] = self.params[i].cut(piece).to(self.params[i].dtype)
        return made

    def _reduced_in(self, g: Any) -> Any:
        return self.policy.reduce_dtype or g.dtype

    def _over_ranks(self, rows: Tensor) -> Tensor:
        flat = zeros(rows.shape[1], dtype=rows.dtype, device=rows.device)
        dist.reduce_scatter_tensor(flat, rows.contiguous(), group=self.shard_group)
        total = self.shard_group.size()
        for i in range(self.mesh.ndim - 1 if self.all_reduce else 0):
            dist.all_reduce(flat, group=self.mesh.get_group(i))
            total *= self.mesh.size(i)
        return flat.div_(self.divide_factor or total)

    def values(self, exact: bool = False) -> list[Tensor]:
        """Return the whole parameters without gradients, gathered if necessary."""
        if self.resident is not None and not exact:
            return self.resident
        with no_grad():
            return self.gather([local_of(p.sharded) for p in self.params], exact) if self.params else []

    def grads(self) -> list[Tensor | None]:
        """Return the whole gradients; None for parameters without one."""
        have: list[Any] = [p.sharded.grad for p in self.params]
        with no_grad():
            whole = self.gather([zeros_like(local_of(p.sharded)) if g is None else local_of(g)
                                 for p, g in zip(self.params, have, strict=True)], exact=True) if self.params else []
        return [None if g is None else w for g, w in zip(have, whole, strict=True)]

    def placeable(self, at: int, whole: Tensor) -> Any:
        """Return a whole parameter as the modules need it."""
        inner = self.params[at].inner
        return whole if inner is None else wrapped(whole, inner)

    def reduced_or_kept(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        """Reduce gradients, together with those kept before; without ``sync`` keep them and return None for each."""
        grads = [_sum(a, b) for a, b in zip(self.kept, grads, strict=True)]
        self.whole = None
        if not self.sync:
            self.kept = grads
            return [None] * len(grads)
        self.kept = [None] * len(grads)
        return self.reduce(self._everywhere(grads))

    def reduce_kept(self) -> None:
        """Reduce the kept gradients, and add the result to the parameters' gradients."""
        with no_grad():
            parts = self.reduce(self._everywhere(self.kept))
            for p, g in zip(self.params, parts, strict=True):
                if g is not None:
                    old = p.sharded.grad
                    p.sharded.grad = wrapped(g if old is None else local_of(old) + g, p.spec)
        self.kept = [None] * len(self.params)

    def _everywhere(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        """Return the gradients with zeros in place of None, since other ranks may have a gradient."""
        return [zeros(p.shape, dtype=self.policy.param_dtype or p.dtype, device=p.sharded.device)
                if g is None and p.sharded.requires_grad else g for p, g in zip(self.params, grads, strict=True)]

    def gathered(self, sharded: list[Any]) -> list[Any]:
        """Gather shards with gradients, and return the parameters as the modules need them."""
        whole = Gathered.apply(self, *[local_of(s) for s in sharded]) if sharded else ()
        return [self.placeable(i, t) for i, t in enumerate(whole)]

    def whole_at(self, at: int) -> Tensor:
        """Return one whole parameter, for a backward."""
        return self.gather_again()[at]

    def convert_inputs(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Return a module's arguments on this rank's device; each rank has its own."""
        if self.mesh.device_type == "cpu":
            return args, kwargs
        return tree_map(lambda x: on_devices_of(self.mesh, x) if isinstance(x, Tensor) else x, (args, kwargs))

    def convert_outputs(self, output: Any) -> Any:
        """Return a module's results unchanged; each rank has its own."""
        return output

    def gather_again(self) -> list[Tensor]:
        """Return the whole parameters, gathered again for a backward if necessary."""
        if self.whole is None:
            self.whole = self.values()
        return self.whole


def _sum(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    return b if a is None else a if b is None else a + b


class Gathered(Function):
    """Gathers shards; the gradient of a shard is this rank's shard of the mean gradient."""

    @staticmethod
    def forward(ctx, group, *locals_):
        ctx.group = group
        ctx.set_materialize_grads(False)
        return tuple([t.detach() for t in group.resident] if group.resident is not None else group.gather(list(locals_)))

    @staticmethod
    def backward(ctx, *grads):
        ctx.group.after_backward()
        return None, *ctx.group.reduced_or_kept(list(grads))
