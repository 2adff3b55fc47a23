"""torch.distributed.fsdp.api: the options of FullyShardedDataParallel. See torch.distributed.fsdp."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.fsdp.configs": "FullOptimStateDictConfig FullStateDictConfig LocalOptimStateDictConfig LocalStateDictConfig "
                              "OptimStateDictConfig ShardedOptimStateDictConfig ShardedStateDictConfig "
                              "StateDictConfig StateDictSettings StateDictType",
    "_parallel.fsdp.wrapper": "BackwardPrefetch CPUOffload MixedPrecision ShardingStrategy",
})
