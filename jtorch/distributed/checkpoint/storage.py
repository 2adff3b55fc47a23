"""torch.distributed.checkpoint.storage: the bases of readers and writers of one's own, which are not built."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {}, not_built="StorageReader StorageWriter WriteResult")
