"""torch.distributed.pipelining.schedules: the orders in which stages run microbatches. See torch.distributed.pipelining."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.pipelining.actions": "_Action _ComputationType _format_pipeline_order BACKWARD_INPUT BACKWARD_WEIGHT FORWARD "
                                    "FULL_BACKWARD OVERLAP_F_B RECV_B RECV_F REDUCE_GRAD RESHARD SEND_B SEND_F UNSHARD B F I W",
    "_parallel.pipelining.lowering": "_add_reduce_grad _add_send_recv _add_unshard_reshard _defer_recv_ops _merge_bw",
    "_parallel.pipelining.checking": "_dump_chrometrace _simulate_comms_compute _validate_schedule",
    "_parallel.pipelining.metadata": "generate_rank_to_stage_mapping generate_stage_to_rank_mapping",
    "_parallel.pipelining.run": "_PipelineContext _batch_p2p _wait_batch_p2p dist logger",
    "_parallel.pipelining.schedule": "_PipelineSchedule",
    "_parallel.pipelining.single": "PipelineScheduleSingle Schedule1F1B ScheduleGPipe _ScheduleForwardOnly",
    "_parallel.pipelining.multi": "PipelineScheduleMulti _CustomFunctionProtocol _PipelineScheduleRuntime",
    "_parallel.pipelining.interleaved":
        "ScheduleDualPipeV ScheduleInterleaved1F1B ScheduleInterleavedZeroBubble ScheduleLoopedBFS ScheduleZBVZeroBubble "
        "get_schedule_class",
})
