"""torch.distributed.tensor.parallel.style: see torch.distributed.tensor.parallel."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {
    "_parallel.styles": "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput PrepareModuleOutput "
                        "RowwiseParallel SequenceParallel",
})
