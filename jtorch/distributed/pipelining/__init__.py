"""torch.distributed.pipelining: models in stages on several ranks, through which microbatches pass."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr
from jtorch.distributed.pipelining import _IR as _IR
from jtorch.distributed.pipelining import _backward as _backward
from jtorch.distributed.pipelining import _utils as _utils
from jtorch.distributed.pipelining import microbatch as microbatch
from jtorch.distributed.pipelining import schedules as schedules
from jtorch.distributed.pipelining import stage as stage

__all__ = ["Pipe", "PipelineStage", "Schedule1F1B", "ScheduleDualPipeV", "ScheduleGPipe", "ScheduleInterleaved1F1B",
           "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS", "ScheduleZBVZeroBubble", "SplitPoint", "build_stage",
           "pipe_split", "pipeline"]

__getattr__ = lazy_getattr(__name__, {
    "_parallel.pipelining.manual": "PipelineStage",
    "_parallel.pipelining.single": "Schedule1F1B ScheduleGPipe _ScheduleForwardOnly",
    "_parallel.pipelining.interleaved":
        "ScheduleDualPipeV ScheduleInterleaved1F1B ScheduleInterleavedZeroBubble ScheduleLoopedBFS ScheduleZBVZeroBubble",
    "_parallel.pipelining.splitting": "SplitPoint pipe_split",
    "fx._pipeline": "Pipe pipeline",
    "fx._pipeline_stage": "build_stage",
})
