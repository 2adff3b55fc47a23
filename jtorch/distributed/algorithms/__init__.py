"""torch.distributed.algorithms: join contexts, communication hooks and model averaging."""
from __future__ import annotations

from jtorch.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
