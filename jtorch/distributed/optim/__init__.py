"""torch.distributed.optim: optimizers whose states are shared out over ranks."""
from __future__ import annotations

from jtorch.distributed.later import names

__all__ = ["ZeroRedundancyOptimizer"]

__getattr__ = names(__name__, {"_parallel.zero": "ZeroRedundancyOptimizer"})
