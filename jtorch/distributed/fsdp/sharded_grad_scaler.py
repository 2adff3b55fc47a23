"""torch.distributed.fsdp.sharded_grad_scaler: loss scaling for gradients that are sharded over ranks."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {"_parallel.fsdp.sharded_grad_scaler": "ShardedGradScaler"})
