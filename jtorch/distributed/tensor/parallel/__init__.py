"""torch.distributed.tensor.parallel: modules whose parameters are sharded over ranks."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
           "RowwiseParallel", "SequenceParallel", "loss_parallel", "parallelize_module"]

__getattr__ = lazy_getattr(__name__, {
    "_parallel.modules": "parallelize_module",
    "_parallel.styles": "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput PrepareModuleOutput "
                        "RowwiseParallel SequenceParallel",
    "_parallel.rules.normalization": "loss_parallel",
})
