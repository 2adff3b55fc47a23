"""torch.distributed._composable.fsdp: the old place of torch.distributed.fsdp.fully_shard."""
from __future__ import annotations

from jtorch.distributed._composable.fsdp import fully_shard
from jtorch.distributed.lazy_exports import lazy_getattr

del fully_shard      # The import bound this name to the submodule. ``__getattr__`` returns the function instead.

__getattr__ = lazy_getattr(__name__, {
    "_parallel.fsdp.fully_shard": "FSDPModule fully_shard register_fsdp_forward_method",
    "_parallel.fsdp.policies": "CPUOffloadPolicy MixedPrecisionPolicy OffloadPolicy",
})
