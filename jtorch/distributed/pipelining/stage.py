"""torch.distributed.pipelining.stage: see torch.distributed.pipelining."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {
    "_parallel.pipelining.manual": "PipelineStage",
    "_parallel.pipelining.stage": "_PipelineStageBase",
    "_parallel.pipelining.transfers": "_RecvInfo",
    "fx._pipeline_stage": "_PipelineStage build_stage",
})
