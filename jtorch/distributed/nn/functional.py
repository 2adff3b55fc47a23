"""torch.distributed.nn.functional: collectives with gradients."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {"_parallel.with_gradients": "_all_gather_base all_gather all_reduce all_to_all "
                                                                  "all_to_all_single broadcast gather reduce "
                                                                  "reduce_scatter scatter"})
