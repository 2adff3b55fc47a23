"""torch.distributed.tensor.placement_types: the placements of a tensor on one dimension of a mesh."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {"_parallel.placements": "Partial Placement Replicate Shard _StridedShard"},
                           not_built="DTensorSpec TensorMeta")
