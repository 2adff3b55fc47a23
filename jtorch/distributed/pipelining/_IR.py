"""torch.distributed.pipelining._IR: see torch.distributed.pipelining."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.pipelining.splitting": "SplitPoint annotate_split_points pipe_split",
    "fx._pipeline": "Pipe pipeline",
})
