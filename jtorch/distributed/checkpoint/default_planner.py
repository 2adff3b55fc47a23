"""torch.distributed.checkpoint.default_planner: see torch.distributed.checkpoint."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {
    "_parallel.checkpoint.loading":
        "DefaultLoadPlanner",
    "_parallel.checkpoint.saving": "DefaultSavePlanner",
})
