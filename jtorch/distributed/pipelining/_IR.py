"""torch.distributed.pipelining._IR: see torch.distributed.pipelining."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {
    "_parallel.pipelining.splitting": "SplitPoint annotate_split_points pipe_split",
    "fx._pipeline": "Pipe pipeline",
})
