"""torch.distributed.checkpoint._fsspec_filesystem: checkpoints in other file systems, which are not built."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {}, not_built="FsspecReader FsspecWriter")
