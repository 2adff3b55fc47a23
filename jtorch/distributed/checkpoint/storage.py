"""torch.distributed.checkpoint.storage: the base classes of custom readers and writers, which are not built."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {}, not_built="StorageReader StorageWriter WriteResult")
