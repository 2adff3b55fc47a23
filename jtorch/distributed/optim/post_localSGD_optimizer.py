"""torch.distributed.optim.post_localSGD_optimizer: the module of that optimizer."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {"_parallel.local_sgd": "PostLocalSGDOptimizer"})
