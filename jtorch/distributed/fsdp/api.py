"""torch.distributed.fsdp.api: the options of FullyShardedDataParallel. See torch.distributed.fsdp."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {
    "_parallel.fsdp.configs": "FullOptimStateDictConfig FullStateDictConfig LocalOptimStateDictConfig LocalStateDictConfig "
                              "OptimStateDictConfig ShardedOptimStateDictConfig ShardedStateDictConfig "
                              "StateDictConfig StateDictSettings StateDictType",
    "_parallel.fsdp.wrapper": "BackwardPrefetch CPUOffload MixedPrecision ShardingStrategy",
})
