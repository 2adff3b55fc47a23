"""torch.distributed.checkpoint.storage: the bases of readers and writers of one's own, which are not built."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {}, not_built="StorageReader StorageWriter WriteResult")
