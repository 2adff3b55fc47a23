"""torch.distributed.checkpoint.api: see torch.distributed.checkpoint."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {
    "_parallel.checkpoint.exchange": "CheckpointException",
})
