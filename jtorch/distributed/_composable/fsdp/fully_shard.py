"""torch.distributed._composable.fsdp.fully_shard: the old place of torch.distributed.fsdp.fully_shard."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.fsdp.fully_shard": "FSDPModule UnshardHandle fully_shard register_fsdp_forward_method",
})
