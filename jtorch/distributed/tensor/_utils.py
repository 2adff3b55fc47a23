"""torch.distributed.tensor._utils: the sizes and offsets of a tensor's shards, which packages that load checkpoints use."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {"_parallel.local_sizes": "compute_local_shape_and_global_offset compute_local_tensor_info "
                                                               "compute_local_stride normalize_to_torch_size"})
