"""torch.distributed.optim: optimizers whose states are sharded over ranks."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]

__getattr__ = lazy_getattr(__name__, {"_parallel.local_sgd": "PostLocalSGDOptimizer",
                                      "_parallel.zero": "ZeroRedundancyOptimizer"},
                           not_built="DistributedOptimizer")
