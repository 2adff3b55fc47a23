"""torch.distributed.nn: collectives with gradients."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr
from jtorch.distributed.nn import functional as functional

__getattr__ = lazy_getattr(__name__, {"_parallel.with_gradients": "all_gather all_reduce all_to_all all_to_all_single "
                                                                  "broadcast gather reduce reduce_scatter scatter"})
