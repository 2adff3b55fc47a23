"""torch.distributed.checkpoint._fsspec_filesystem: checkpoints in other file systems, which are not built."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {}, not_built="FsspecReader FsspecWriter")
