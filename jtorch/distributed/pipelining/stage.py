"""torch.distributed.pipelining.stage: see torch.distributed.pipelining."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.pipelining.manual": "PipelineStage",
    "_parallel.pipelining.stage": "_PipelineStageBase",
    "_parallel.pipelining.transfers": "_RecvInfo",
    "fx._pipeline_stage": "_PipelineStage build_stage",
})
