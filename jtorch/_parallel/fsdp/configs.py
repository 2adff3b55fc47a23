"""The kinds of state dicts of FullyShardedDataParallel. See torch.distributed.fsdp.api."""
from __future__ import annotations

import enum
from dataclasses import dataclass, field


class StateDictType(enum.Enum):
    """The kind of a module's state dict: whole tensors, or shards. See torch.distributed.fsdp.StateDictType."""

    FULL_STATE_DICT = enum.auto()
    LOCAL_STATE_DICT = enum.auto()
    SHARDED_STATE_DICT = enum.auto()


class OptimStateKeyType(enum.Enum):
    """The keys of an optimizer's state dict: parameter names or numbers. See torch.distributed.fsdp.OptimStateKeyType."""

    PARAM_NAME = enum.auto()
    PARAM_ID = enum.auto()


@dataclass
class StateDictConfig:
    """The base class of options for a module's state dict. See torch.distributed.fsdp.StateDictConfig."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Options for whole tensors; on the first rank only with ``rank0_only``. See torch.distributed.fsdp.FullStateDictConfig."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Options for flat shards, which are not built. See torch.distributed.fsdp.LocalStateDictConfig."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Options for shards. See torch.distributed.fsdp.ShardedStateDictConfig."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """The base class of options for an optimizer's state dict. See torch.distributed.fsdp.OptimStateDictConfig."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Options for whole tensors; on the first rank only with ``rank0_only``. See
    torch.distributed.fsdp.FullOptimStateDictConfig.
    """

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Options for flat shards, which are not built. See torch.distributed.fsdp.LocalOptimStateDictConfig."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Options for shards. See torch.distributed.fsdp.ShardedOptimStateDictConfig."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """The kind and options of a module's state dict and its optimizers'. See torch.distributed.fsdp.StateDictSettings."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)


_OF_TYPE: dict[StateDictType, tuple[type[StateDictConfig], type[OptimStateDictConfig]]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig)}


def settings_of(kind: StateDictType, config: StateDictConfig | None,
                optim_config: OptimStateDictConfig | None) -> StateDictSettings:
    """Return settings with default options where none are given; RuntimeError for options of another kind."""
    wanted, optim_wanted = _OF_TYPE[kind]
    config = wanted() if config is None else config
    optim_config = optim_wanted() if optim_config is None else optim_config
    for name, given, kind_of in (("state_dict_config", config, wanted), ("optim_state_dict_config", optim_config, optim_wanted)):
        if type(given) is not kind_of:
            raise RuntimeError(f"Expected {name} of type {kind_of} but got {type(given)}")
    return StateDictSettings(kind, config, optim_config)
