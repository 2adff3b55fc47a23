"""fully_shard: gather parameters before a module's forward, and reduce gradients after its backward."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jtorch._base.pytree import tree_map
from jtorch._parallel.dtensor import DTensor, on_devices_of
from jtorch._parallel.fsdp.group import ParameterGroup, ShardedParameter
from jtorch._parallel.fsdp.policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from jtorch._parallel.placements import Shard
from jtorch._parallel.spmd.fully_shard import SPMDGroup, SPMDParameter, spread_buffers
from jtorch.autograd.graph import saved_tensors_hooks
from jtorch.device import accelerator_type
from jtorch.distributed import membership, own_devices
from jtorch.distributed.device_mesh import DeviceMesh, init_device_mesh
from jtorch.nn.modules.container import ModuleDict, ModuleList
from jtorch.nn.modules.module import Module
from jtorch.no_grad import is_grad_enabled, no_grad
from jtorch.tensor import Parameter, Tensor


class _State:
    """The state of modules that were sharded together: their parameter group, and what is gathered now."""

    def __init__(self, modules: list[Module], group: ParameterGroup, reshards: bool | None, policy: MixedPrecisionPolicy):
        self.modules, self.group, self.reshards, self.policy = modules, group, reshards, policy
        self.to_run: list[Module] = []      # The modules that have not run their forward since the parameters were gathered.
        inner = [m._fsdp for root in modules for m in root.modules() if isinstance(m, FSDPModule)]
        # The inner states that belong to several modules each. Some of these modules may not run in a forward.
        self.together = list(dict.fromkeys([s for s in inner if len(s.modules) > 1]))
        self.is_root = True
        self.depth = 0
        self.reshards_after_backward = True
        self.packing: saved_tensors_hooks | None = None
        group.after_backward = self.after_backward

    # ------------------------------------------------------------ around forward

    def before(self, module: Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Gather the parameters before a module's forward, and convert its inputs."""
        self.depth += 1
        if self.depth == 1 and module not in self.to_run:
            self.to_run = list(self.modules)
            self.gather()
        args, kwargs = self.group.convert_inputs(args, kwargs)
        dtype = self.policy.param_dtype
        if dtype is not None and self.policy.cast_forward_inputs:
            args, kwargs = tree_map(lambda x: _cast(x, dtype), (args, kwargs))
        return args, kwargs

    def gather(self) -> None:
        """Gather the parameters; in a forward with gradients, save references to them, so that they can be freed until
        backward.
        """
        self._stop_packing()
        params = self.group.params
        whole = self.group.gathered([p.sharded for p in params])
        for p, t in zip(params, whole, strict=True):
            p.put_whole(t)
        if params and is_grad_enabled() and self._reshards_after_forward():
            self.packing = _packing(self.group, whole)
            self.packing.__enter__()

    def unshard(self) -> None:
        """Gather the parameters, and keep them for forwards until something frees them."""
        if self.group.resident is None:
            self.group.resident = self.group.values()
        self._place_resident()

    def _place_resident(self) -> None:
        """Put the kept parameters in the place of the shards; where gradients are recorded, connected to the shards."""
        group = self.group
        if is_grad_enabled():
            whole = group.gathered([p.sharded for p in group.params])
        else:
            kept = [group.placeable(i, t) for i, t in enumerate(group.resident or [])]
            whole = [Parameter(t, p.sharded.requires_grad) for p, t in zip(group.params, kept, strict=True)]
        for p, t in zip(group.params, whole, strict=True):
            p.put_whole(t)

    def summon(self, placed: bool, on_cpu: bool, with_grads: bool) -> None:
        """Gather the parameters in their own dtypes, and the gradients; with ``placed`` put them in the place of the shards."""
        group = self.group
        whole = group.values(exact=True)
        grads: list[Any] = group.grads() if with_grads else [None] * len(whole)
        for i, p in enumerate(group.params if placed else []):
            t = Parameter(group.placeable(i, whole[i].cpu() if on_cpu else whole[i]), p.sharded.requires_grad)
            t.grad = None if grads[i] is None else group.placeable(i, grads[i])
            p.put_whole(t)

    def after_backward(self) -> None:
        """Free the gathered parameters after a backward, or keep them for the next forward."""
        if self.reshards_after_backward:
            self.reshard()
            return
        if self.group.resident is None:
            self.group.resident = self.group.gather_again()
        with no_grad():
            self._place_resident()

    def _reshards_after_forward(self) -> bool:
        return not self.is_root if self.reshards is None else bool(self.reshards)

    def after(self, module: Module, args: tuple, output: Any) -> Any:
        """Reshard the parameters after the last of the modules has run, or after one has raised."""
        self.depth -= 1
        if self.depth == 0:
            self.to_run = [m for m in self.to_run if m is not module and output is not None]
            if not self.to_run:
                self._end_forward()
            if self.is_root:
                self._reshard_inner()
        output, dtype = self.group.convert_outputs(output), self.policy.output_dtype
        return output if dtype is None else tree_map(lambda x: _cast(x, dtype), output)

    def _reshard_inner(self) -> None:
        """Reshard inner groups of modules of which some did not run."""
        for state in self.together:
            if state.to_run:
                state.reshard()

    def _end_forward(self) -> None:
        """Free the parameters, unless they are kept and backward needs them at once."""
        if self.group.resident is None or self._reshards_after_forward():
            self.reshard()

    def _stop_packing(self) -> None:
        if self.packing is not None:
            self.packing.__exit__()
            self.packing = None

    def reshard(self) -> None:
        """Free the gathered parameters, and put the shards in their place."""
        self.to_run = []
        self._stop_packing()
        self.group.resident = None
        for p in self.group.params:
            p.put_shard()


def _cast(x: Any, dtype: Any) -> Any:
    return x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x      # type: ignore[attr-defined]


def _packing(group: ParameterGroup, whole: list[Tensor]) -> saved_tensors_hooks:
    """Return hooks that save a gathered parameter, or a view of one, as its index and geometry."""
    place = {id(t._storage): i for i, t in enumerate(whole)}
    alive = [t._storage for t in whole]     # The references keep the ids of the storages from being reused.

    def pack(t: Tensor) -> Any:
        at = place.get(id(t._storage)) if alive else None
        return t if at is None else (at, tuple(t.shape), t.stride(), t.storage_offset())

    def unpack(kept: Any) -> Tensor:
        if isinstance(kept, Tensor):
            return kept
        at, shape, stride, offset = kept
        return group.whole_at(at).as_strided(shape, stride, offset)      # type: ignore[attr-defined]

    class Packing(saved_tensors_hooks):
        def __exit__(self, *exc: Any) -> None:
            super().__exit__(*exc)
            alive.clear()
            place.clear()
    return Packing(pack, unpack)


# ---------------------------------------------------------------- the module

class UnshardHandle:
    """The result of ``unshard(async_op=True)``. See torch.distributed.fsdp.UnshardHandle."""

    def wait(self) -> None:
        """Do nothing: the parameters are gathered when ``unshard`` returns."""


def _not_built(name: str) -> Callable:
    def method(self: Any, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"FSDPModule.{name} is not built")
    method.__name__, method.__doc__ = name, "Raise NotImplementedError: the method is not built."
    return method


class FSDPModule:
    """The base class that ``fully_shard`` adds to a module's class. See torch.distributed.fsdp.FSDPModule."""

    _fsdp: _State

    def _get_fsdp_state(self) -> _State:
        return self._fsdp

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the parameters."""
        self._fsdp.unshard()
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Free the gathered parameters, and keep the shards."""
        self._fsdp.reshard()

    def _states(self, recurse: bool) -> list[_State]:
        modules: Any = self.modules() if recurse else [self]      # type: ignore[attr-defined]
        return [m._fsdp for m in modules if isinstance(m, FSDPModule)]

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Set whether the next backwards reduce gradients over ranks, or add them up in this process."""
        for state in self._states(recurse):
            state.group.sync = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Set whether gradients are reduced over the replicas too."""
        for state in self._states(recurse):
            state.group.all_reduce = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Set whether gathered parameters are freed between forward and backward."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}")
        for state in self._states(recurse):
            state.reshards = reshard_after_forward

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Set the divisor of the summed gradients, in place of the number of ranks."""
        self._fsdp.group.divide_factor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Do nothing: no work waits for the last backward."""

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Set whether gathered parameters are freed after backward. If not, later forwards use them until ``reshard``."""
        for state in self._states(recurse):
            state.reshards_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: list) -> None:
        """Check the modules; no parameters are prefetched."""
        _check_sharded(modules)

    def set_modules_to_backward_prefetch(self, modules: list) -> None:
        """Check the modules; no parameters are prefetched."""
        _check_sharded(modules)

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Do nothing: backward gathers parameters only if it needs them."""

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Do nothing: gradients are always summed over ranks, and then divided."""

    def _set_unshard_async_op(self, async_op: bool) -> None:
        """Do nothing: parameters are gathered when ``unshard`` returns."""

    reset_iter_state = _not_built("reset_iter_state")
    set_all_reduce_hook = _not_built("set_all_reduce_hook")
    set_allocate_memory_from_process_group_for_comm = _not_built("set_allocate_memory_from_process_group_for_comm")
    set_custom_all_gather = _not_built("set_custom_all_gather")
    set_custom_reduce_scatter = _not_built("set_custom_reduce_scatter")
    set_post_optim_event = _not_built("set_post_optim_event")
    set_reduce_scatter_max_input_buffers = _not_built("set_reduce_scatter_max_input_buffers")
    set_reduce_scatter_unused_params = _not_built("set_reduce_scatter_unused_params")
    set_symm_mem_for_comm = _not_built("set_symm_mem_for_comm")
    set_separate_reduce_scatter_group = _not_built("set_separate_reduce_scatter_group")

    def __deepcopy__(self, memo: dict) -> Any:
        raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")


def _check_sharded(modules: list) -> None:
    for m in modules:
        if not isinstance(m, FSDPModule):
            raise ValueError(f"Expects FSDPModule but got {type(m)}: {m}")


@functools.cache
def _class_of(cls: type) -> type:
    return type(f"FSDP{cls.__name__}", (FSDPModule, cls), {"__module__": cls.__module__})


_SAME, _HERE = MixedPrecisionPolicy(), OffloadPolicy()


def fully_shard(module: Any, *, mesh: DeviceMesh | None = None, reshard_after_forward: bool | int | None = None,
                shard_placement_fn: Callable | None = None, mp_policy: MixedPrecisionPolicy = _SAME,
                offload_policy: OffloadPolicy = _HERE, ignored_params: set | None = None, dp_mesh_dims: Any = None) -> Any:
    """Shard a module's parameters over ranks. See torch.distributed.fsdp.fully_shard.

    The parameters become DTensors. They are gathered before forward, freed after it, and gathered again when backward needs
    them. Gradients are averaged over ranks, and each rank keeps its shard. Call this for the layers first and then for the
    whole module, so that only one layer at a time is gathered.

    Args:
        module: the module, or a list of modules that are gathered together; changed in place.
        mesh: the mesh; all ranks, if None, or all devices of a process that has joined no job. Its one dimension shards the
            parameters; of two dimensions, the first replicates them.
        reshard_after_forward: whether parameters are freed between forward and backward; if None, those of the outermost
            module are not, because backward needs them at once.
        shard_placement_fn: a function that returns a parameter's ``Shard(dim)``, or None for the first dim.
        mp_policy: the dtypes.
        offload_policy: ``CPUOffloadPolicy`` is accepted on a mesh of CPUs, and not built on others.
        ignored_params: parameters that stay as they are.
        dp_mesh_dims: not built.

    Returns:
        The module.

    Raises:
        ValueError: a container without a forward, or a mesh of more than two dimensions.

    >>> mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
    >>> net = torch.distributed.fsdp.fully_shard(torch.nn.Linear(2, 2), mesh=mesh)
    >>> net.weight.placements, net(torch.ones(1, 2)).shape
    ((Shard(dim=0),), torch.Size([1, 2]))

    """
    modules = module if isinstance(module, list) else [module]
    for m in modules:
        _check(m)
    mesh = mesh or default_mesh()
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    if dp_mesh_dims is not None:
        raise NotImplementedError("fully_shard with dp_mesh_dims is not built: give a mesh of these dimensions alone")
    if isinstance(offload_policy, CPUOffloadPolicy) and mesh.device_type != "cpu":
        raise NotImplementedError(f"fully_shard with CPUOffloadPolicy is not built for {mesh.device_type}")
    if isinstance(reshard_after_forward, int) and not isinstance(reshard_after_forward, bool):
        raise NotImplementedError("fully_shard with a number as reshard_after_forward is not built: use True or False")
    params = _cut(modules, mesh, shard_placement_fn, ignored_params or set())
    group: Any = (ParameterGroup if mesh._own is None else SPMDGroup)(params, mesh, mp_policy)      # type: ignore[arg-type]
    state = _State(modules, group, reshard_after_forward, mp_policy)
    for m in modules:
        _install(m, state)
    return module


def default_mesh() -> DeviceMesh:
    """Return a mesh of all ranks of the job; of all devices, if the job has the backend "xla" or if there is no job."""
    kind = accelerator_type() or "cpu"
    if not own_devices.are_meant():
        return init_device_mesh(kind, (membership.get_world_size(),))
    return init_device_mesh(kind, (len(own_devices.spanned(kind)),))


def _check(module: Module) -> None:
    if isinstance(module, (ModuleList, ModuleDict)):
        raise ValueError(f"fully_shard does not support containers that do not implement forward: {module}")
    if isinstance(module, FSDPModule):
        raise AssertionError(f"Each distinct composable distributed API can only be applied to a module once. The following "
                             f"APIs have already been applied to the following module: fully_shard {module}")


def _cut(roots: list[Module], mesh: DeviceMesh, placement: Callable | None, ignored: set) -> list[ShardedParameter]:
    """Shard the parameters that no inner module has sharded before."""
    made: dict[int, ShardedParameter] = {}
    alive: list[Any] = []
    if mesh._own is not None:
        spread_buffers([m for root in roots for m in _own_modules(root)], mesh)
    else:
        _move_to_devices([m for root in roots for m in _own_modules(root)], mesh, ignored)
    for module in [m for root in roots for m in _own_modules(root)]:
        for name, p in list(module._parameters.items()):
            if p is None or any(p is q for q in ignored):
                continue
            if id(p) in made:
                made[id(p)].places.append((module, name))
                module._parameters[name] = made[id(p)].sharded
                continue
            wanted = placement(p) if placement is not None else None
            if wanted is not None and not isinstance(wanted, Shard):
                raise NotImplementedError(f"shard_placement_fn: {wanted} is not built; give a Shard or None")
            dim = None if wanted is None else wanted.dim % max(p.dim(), 1)
            made[id(p)] = (ShardedParameter(module, name, mesh, dim or 0) if mesh._own is None
                           else SPMDParameter(module, name, mesh, dim))
            alive.append(p)     # The reference keeps the id from being reused.
    return list(made.values())


def _move_to_devices(modules: list[Module], mesh: DeviceMesh, ignored: set) -> None:
    """Move parameters and buffers to this rank's device of a mesh, as PyTorch does before it shards them."""
    for module in modules:
        for t in (*module._parameters.values(), *module._buffers.values()):
            if t is not None and not isinstance(t, DTensor) and not any(t is p for p in ignored):
                moved = on_devices_of(mesh, t.detach())
                if moved.device is not t.device:
                    t.data = moved


def _own_modules(root: Module) -> list[Module]:
    found, pending = [], [root]
    while pending:
        module = pending.pop(0)
        if module is not root and isinstance(module, FSDPModule):
            module._fsdp.is_root = False
            for inner in module.modules():
                if isinstance(inner, FSDPModule):
                    inner._fsdp.is_root = False
            continue
        found.append(module)
        pending = [*module.children(), *pending]
    return found


def _install(module: Module, state: _State) -> None:
    module.__dict__["_fsdp"] = state
    module.__class__ = _class_of(type(module))      # type: ignore[assignment,arg-type]
    module.register_forward_pre_hook(state.before, prepend=True, with_kwargs=True)
    module.register_forward_hook(lambda mod, args, output: state.after(mod, args, output), always_call=True)
    module.register_state_dict_pre_hook(lambda *args: state.reshard())
    module.register_load_state_dict_pre_hook(lambda *args: state.reshard())
    module.register_load_state_dict_post_hook(lambda mod, keys: _check_loaded(state.group))


def _check_loaded(group: Any) -> None:
    """Raise PyTorch's error if a state dict has put plain tensors in the place of shards."""
    for p in group.params:
        if not isinstance(p.placed, DTensor):
            raise AttributeError(f"'{type(p.placed).__name__}' object has no attribute '_local_tensor'")


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Make another method of a sharded module gather its parameters. See torch.distributed.fsdp.register_fsdp_forward_method."""
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    given, state = getattr(module, method_name), module._fsdp

    @functools.wraps(given)
    def method(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = state.before(module, args, kwargs)
        try:
            made = given(*args, **kwargs)
        except BaseException:
            state.after(module, args, None)
            raise
        return state.after(module, args, made)
    object.__setattr__(module, method_name, method)
