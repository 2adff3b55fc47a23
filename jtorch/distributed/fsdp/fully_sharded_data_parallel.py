"""torch.distributed.fsdp.fully_sharded_data_parallel: see torch.distributed.fsdp."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.fsdp.configs": "FullOptimStateDictConfig FullStateDictConfig LocalOptimStateDictConfig LocalStateDictConfig "
                              "OptimStateDictConfig OptimStateKeyType ShardedOptimStateDictConfig ShardedStateDictConfig "
                              "StateDictConfig StateDictSettings StateDictType",
    "_parallel.fsdp.wrapper": "BackwardPrefetch CPUOffload FullyShardedDataParallel MixedPrecision ShardingStrategy",
})
