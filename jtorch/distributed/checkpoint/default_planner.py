"""torch.distributed.checkpoint.default_planner: see torch.distributed.checkpoint."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.checkpoint.loading":
        "DefaultLoadPlanner",
    "_parallel.checkpoint.saving": "DefaultSavePlanner",
})
