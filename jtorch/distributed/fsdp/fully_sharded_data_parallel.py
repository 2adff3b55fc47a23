"""torch.distributed.fsdp.fully_sharded_data_parallel: see torch.distributed.fsdp."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {
    "_parallel.fsdp.configs": "FullOptimStateDictConfig FullStateDictConfig LocalOptimStateDictConfig LocalStateDictConfig "
                              "OptimStateDictConfig OptimStateKeyType ShardedOptimStateDictConfig ShardedStateDictConfig "
                              "StateDictConfig StateDictSettings StateDictType",
    "_parallel.fsdp.wrapper": "BackwardPrefetch CPUOffload FullyShardedDataParallel MixedPrecision ShardingStrategy",
})
