"""torch.distributed._tensor.placement_types: the old place of torch.distributed.tensor.placement_types."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {"_parallel.placements": "Partial Placement Replicate Shard"},
                    not_built="DTensorSpec TensorMeta")
