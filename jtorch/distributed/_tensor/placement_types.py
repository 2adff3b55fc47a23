"""torch.distributed._tensor.placement_types: the old place of torch.distributed.tensor.placement_types."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {"_parallel.placements": "Partial Placement Replicate Shard"},
                           not_built="DTensorSpec TensorMeta")
