"""torch.distributed.optim.post_localSGD_optimizer: PostLocalSGDOptimizer."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {"_parallel.local_sgd": "PostLocalSGDOptimizer"})
