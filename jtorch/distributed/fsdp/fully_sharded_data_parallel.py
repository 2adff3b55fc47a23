"""torch.distributed.fsdp.fully_sharded_data_parallel: see torch.distributed.fsdp."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {
    "_parallel.fsdp.wrapper": "BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig FullyShardedDataParallel "
                              "MixedPrecision ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictType",
})
