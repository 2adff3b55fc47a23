"""torch.distributed.tensor.parallel.style: see torch.distributed.tensor.parallel."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.styles": "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput PrepareModuleOutput "
                        "RowwiseParallel SequenceParallel",
})
