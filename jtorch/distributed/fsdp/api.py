"""torch.distributed.fsdp.api: the options of FullyShardedDataParallel. See torch.distributed.fsdp."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {
    "_parallel.fsdp.wrapper": "BackwardPrefetch CPUOffload FullOptimStateDictConfig FullStateDictConfig MixedPrecision "
                              "ShardedOptimStateDictConfig ShardedStateDictConfig ShardingStrategy StateDictType",
})
