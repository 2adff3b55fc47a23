"""torch.distributed._tensor.api: the old place of torch.distributed.tensor."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {"_parallel.dtensor": "DTensor", "_parallel.create": "distribute_tensor",
                                      "_parallel.modules": "distribute_module"})
