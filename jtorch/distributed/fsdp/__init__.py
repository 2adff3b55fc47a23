"""torch.distributed.fsdp: modules whose parameters are sharded over ranks."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__all__ = ["BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FullOptimStateDictConfig",
           "FullStateDictConfig", "FullyShardedDataParallel", "LocalOptimStateDictConfig", "LocalStateDictConfig",
           "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy", "OptimStateDictConfig", "OptimStateKeyType",
           "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig",
           "StateDictSettings", "StateDictType", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]

__getattr__ = lazy_getattr(__name__, {
    "_parallel.fsdp.fully_shard": "FSDPModule UnshardHandle fully_shard register_fsdp_forward_method",
    "_parallel.fsdp.policies": "CPUOffloadPolicy MixedPrecisionPolicy OffloadPolicy",
    "_parallel.fsdp.configs": "FullOptimStateDictConfig FullStateDictConfig LocalOptimStateDictConfig LocalStateDictConfig "
                              "OptimStateDictConfig OptimStateKeyType ShardedOptimStateDictConfig ShardedStateDictConfig "
                              "StateDictConfig StateDictSettings StateDictType",
    "_parallel.fsdp.wrapper": "BackwardPrefetch CPUOffload FullyShardedDataParallel MixedPrecision ShardingStrategy",
})
