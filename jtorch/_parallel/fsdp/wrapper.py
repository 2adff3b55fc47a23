"""FullyShardedDataParallel: ``fully_shard`` as a wrapper module. See torch.distributed.fsdp.FullyShardedDataParallel."""
from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jtorch.distributed as dist
from jtorch._base import warned
from jtorch._parallel.create import distribute_tensor
from jtorch._parallel.dtensor import DTensor
from jtorch._parallel.fsdp import optimizer_states
from jtorch._parallel.fsdp.configs import (
    OptimStateDictConfig,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
    settings_of,
)
from jtorch._parallel.fsdp.fully_shard import FSDPModule, default_mesh, fully_shard
from jtorch._parallel.fsdp.policies import MixedPrecisionPolicy
from jtorch._parallel.full_tensor import full_tensor
from jtorch.device import accelerator_type
from jtorch.distributed.device_mesh import DeviceMesh
from jtorch.nn.modules.module import Module
from jtorch.nn.utils.clip_grad import clip_grad_norm_ as clip
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor


class ShardingStrategy(enum.Enum):
    """The tensors that are sharded, and when. See torch.distributed.fsdp.ShardingStrategy."""

    FULL_SHARD = enum.auto()
    SHARD_GRAD_OP = enum.auto()
    NO_SHARD = enum.auto()
    HYBRID_SHARD = enum.auto()
    _HYBRID_SHARD_ZERO2 = enum.auto()


class BackwardPrefetch(enum.Enum):
    """The time of prefetching in backward: accepted; nothing is prefetched."""

    BACKWARD_PRE = enum.auto()
    BACKWARD_POST = enum.auto()


@dataclass
class MixedPrecision:
    """The dtypes of gathered parameters and of the reduction of gradients. See torch.distributed.fsdp.MixedPrecision.

    The other fields are accepted and ignored.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """Accepted and ignored: parameters stay on the mesh's devices."""

    offload_params: bool = False


class FullyShardedDataParallel(Module):
    """A module whose parameters are sharded over ranks. See torch.distributed.fsdp.FullyShardedDataParallel.

    ``fully_shard`` shards the wrapped module, which is the attribute ``module``. So parameters are DTensors under the
    module's own names, as with ``use_orig_params=True``. ``state_dict`` gives whole tensors, unless ``set_state_dict_type``
    says otherwise.

    Args:
        module: the module.
        process_group: the ranks; all, if None.
        sharding_strategy: FULL_SHARD, or SHARD_GRAD_OP, which keeps parameters gathered from forward to backward.
        auto_wrap_policy: selects the submodules to shard separately, such as those of ``torch.distributed.fsdp.wrap``.
        mixed_precision: the dtypes.
        ignored_modules: modules that stay as they are.
        sync_module_states: whether the parameters become those of the first rank.
        device_mesh: the ranks, as a mesh.

    Raises:
        NotImplementedError: a strategy that is not built, or ``param_init_fn``.

    >>> net = FullyShardedDataParallel(net)     # doctest: +SKIP

    """

    def __init__(self, module: Module, process_group: Any = None, sharding_strategy: Any = None, cpu_offload: Any = None,
                 auto_wrap_policy: Any = None, backward_prefetch: Any = None, mixed_precision: MixedPrecision | None = None,
                 ignored_modules: Any = None, param_init_fn: Any = None, device_id: Any = None, sync_module_states: bool = False,
                 forward_prefetch: bool = False, limit_all_gathers: bool = True, use_orig_params: bool = False,
                 ignored_states: Any = None, device_mesh: DeviceMesh | None = None):
        super().__init__()
        if sharding_strategy not in (None, ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
            raise NotImplementedError(f"FullyShardedDataParallel with {sharding_strategy} is not built: DistributedDataParallel "
                                      "shares nothing out, fully_shard takes a mesh of two dimensions for replicas")
        if param_init_fn is not None:
            raise NotImplementedError("FullyShardedDataParallel: param_init_fn is not built; make parameters before, or use "
                                      "fully_shard and to_empty()")
        mesh = device_mesh or (default_mesh() if process_group is None else
                               DeviceMesh.from_group(process_group, accelerator_type() or "cpu"))
        if sync_module_states and mesh._own is None:
            _make_alike(module, process_group or dist._get_default_group())
        ignored = {p for m in ignored_modules or () for p in m.parameters()} | {p for p in ignored_states or ()
                                                                               if isinstance(p, Tensor)}
        options: dict[str, Any] = {"mesh": mesh, "mp_policy": _policy(mixed_precision), "ignored_params": ignored,
                   "reshard_after_forward": False if sharding_strategy is ShardingStrategy.SHARD_GRAD_OP else None}
        for inner in _chosen(module, auto_wrap_policy):
            fully_shard(inner, **options)
        self._fsdp_wrapped_module = fully_shard(module, **options)
        self._settings, self._use_orig_params = StateDictSettings(), use_orig_params

    @property
    def module(self) -> Module:
        """The wrapped module."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_fsdp_wrapped_module"), name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the wrapped module."""
        return self._fsdp_wrapped_module(*args, **kwargs)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator:
        """Yield the parameters under names without the wrapper's prefix."""
        for name, p in super().named_parameters(*args, **kwargs):
            yield name.replace("_fsdp_wrapped_module.", ""), p

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Add up whole gradients in this process in this block; the next backward outside reduces the sums."""
        self.module.set_requires_gradient_sync(False)      # type: ignore[operator]
        try:
            yield
        finally:
            self.module.set_requires_gradient_sync(True)      # type: ignore[operator]

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients so that their total norm is at most ``max_norm``, and return the norm before."""
        return full_tensor(clip(self.parameters(), max_norm, norm_type))

    # ------------------------------------------------------------ state dicts

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the module's state dict, of whole tensors or shards as the settings say."""
        found = self.module.state_dict(*args, **kwargs)
        if self._settings.state_dict_type is StateDictType.SHARDED_STATE_DICT:
            return found
        with no_grad():
            made = {k: full_tensor(v) for k, v in found.items()}
        only_first = getattr(self._settings.state_dict_config, "rank0_only", False)
        return {} if only_first and dist.is_initialized() and dist.get_rank() else made

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Load a state dict of whole tensors or shards."""
        own = self.module.state_dict()
        with no_grad():
            given = {k: _like(v, own.get(k)) for k, v in state_dict.items()}
        return self.module.load_state_dict(given, strict, assign)

    @staticmethod
    def set_state_dict_type(module: Module, state_dict_type: StateDictType, state_dict_config: StateDictConfig | None = None,
                            optim_state_dict_config: OptimStateDictConfig | None = None) -> StateDictSettings:
        """Set the kind of state dicts of a module, its submodules and their optimizers; return the previous settings."""
        if state_dict_type is StateDictType.LOCAL_STATE_DICT:
            raise NotImplementedError("LOCAL_STATE_DICT is not built: SHARDED_STATE_DICT has the parts")
        made = settings_of(state_dict_type, state_dict_config, optim_state_dict_config)
        before = StateDictSettings()
        for m in FullyShardedDataParallel.fsdp_modules(module):
            before, m._settings = m._settings, made
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """Return the state dict settings; AssertionError if the submodules differ."""
        return optimizer_states.settings(module)

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """Return the modules of this class within ``module``, itself included; with ``root_only`` those that are in no other."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        within = {inner for m in found for inner in m.modules() if inner is not m} if root_only else set()
        return [m for m in found if m not in within]

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(module: Module, state_dict_type: StateDictType, state_dict_config: StateDictConfig | None = None,
                        optim_state_dict_config: OptimStateDictConfig | None = None) -> Iterator[None]:
        """Set the kind of state dicts in a block. See ``set_state_dict_type``."""
        before = FullyShardedDataParallel.set_state_dict_type(module, state_dict_type, state_dict_config, optim_state_dict_config)
        try:
            yield
        finally:
            FullyShardedDataParallel.set_state_dict_type(module, before.state_dict_type, before.state_dict_config,
                                                         before.optim_state_dict_config)

    optim_state_dict = staticmethod(optimizer_states.optim_state_dict)
    optim_state_dict_to_load = staticmethod(optimizer_states.optim_state_dict_to_load)
    full_optim_state_dict = staticmethod(optimizer_states.full_optim_state_dict)
    sharded_optim_state_dict = staticmethod(optimizer_states.sharded_optim_state_dict)
    shard_full_optim_state_dict = staticmethod(optimizer_states.shard_full_optim_state_dict)
    flatten_sharded_optim_state_dict = staticmethod(optimizer_states.flatten_sharded_optim_state_dict)
    scatter_full_optim_state_dict = staticmethod(optimizer_states.scatter_full_optim_state_dict)
    rekey_optim_state_dict = staticmethod(optimizer_states.rekey_optim_state_dict)

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(module: Module, recurse: bool = True, writeback: bool = True, rank0_only: bool = False,
                           offload_to_cpu: bool = False, with_grads: bool = False) -> Iterator[None]:
        """Gather the parameters in this block, in their own dtypes.

        Args:
            module: a module that is sharded, or has sharded modules.
            recurse: whether to gather the parameters of inner modules too.
            writeback: whether writes to the parameters remain after the block. Otherwise they are lost.
            rank0_only: whether the other ranks keep their shards. It excludes ``writeback``.
            offload_to_cpu: whether the gathered parameters are on the CPU.
            with_grads: whether gradients are gathered too, and written back. It needs ``use_orig_params=True``.

        Raises:
            NotImplementedError: the options exclude each other.

        """
        among = list(module.modules()) if recurse else [module, getattr(module, "_fsdp_wrapped_module", module)]
        orig = all(m._use_orig_params for m in among if isinstance(m, FullyShardedDataParallel))
        if with_grads and (offload_to_cpu or not orig):
            raise NotImplementedError(f"with_grads={with_grads}, use_orig_params={orig}, offload_to_cpu={offload_to_cpu} is not "
                                      "supported yet")
        if writeback and rank0_only:
            raise NotImplementedError("writeback=True and rank0_only=True is not supported yet")
        if offload_to_cpu and not rank0_only:
            warned.warn(_REDUNDANT)
        states = list(dict.fromkeys([m._fsdp for m in among if isinstance(m, FSDPModule)]))
        placed = not rank0_only or dist.get_rank() == 0
        with no_grad():
            for state in states:
                state.summon(placed, offload_to_cpu, with_grads)
        try:
            yield
        finally:
            with no_grad():
                for state in states:
                    if writeback:
                        state.group.write_back(with_grads)
                    state.reshard()


_REDUNDANT = ("offload_to_cpu=True and rank0_only=False may result in theunsharded parameters being redundantly copied to CPU "
              "memory for GPUs sharing the same CPU memory, which risks CPU OOM. We recommend using offload_to_cpu=True with "
              "rank0_only=True.")


def _like(value: Any, own: Any) -> Any:
    if not isinstance(own, DTensor) or isinstance(value, DTensor):
        return value
    return distribute_tensor(value.detach(), own.device_mesh, own.placements, src_data_rank=None)


def _policy(given: MixedPrecision | None) -> MixedPrecisionPolicy:
    return MixedPrecisionPolicy() if given is None else MixedPrecisionPolicy(given.param_dtype, given.reduce_dtype)


def _make_alike(module: Module, group: Any) -> None:
    with no_grad():
        for t in [*module.parameters(), *module.buffers()]:
            dist.broadcast(t.detach(), group=group, group_src=0)


def _chosen(module: Module, policy: Any) -> list[Module]:
    """Return the submodules that a policy selects, inner ones first."""
    if policy is None:
        return []
    if not callable(policy):
        raise NotImplementedError(f"auto_wrap_policy: {policy} is not built; give a function of (module, recurse, "
                                  "nonwrapped_numel)")
    inner = [m for m in module.modules() if m is not module]
    return [m for m in reversed(inner) if _wants(policy, m)]


def _wants(policy: Callable, m: Module) -> bool:
    return bool(policy(module=m, recurse=False, nonwrapped_numel=sum(p.numel() for p in m.parameters())))
