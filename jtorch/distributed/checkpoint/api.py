"""torch.distributed.checkpoint.api: see torch.distributed.checkpoint."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.checkpoint.exchange": "CheckpointException",
})
