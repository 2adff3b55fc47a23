"""torch.distributed.algorithms: what training over several processes needs beside collectives."""
from __future__ import annotations

from jtorch.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
