"""DistributedDataParallel with different numbers of batches per process. See DistributedDataParallel.join."""
from __future__ import annotations

from typing import Any

from jtorch.distributed.algorithms.join import JoinHook
from jtorch.no_grad import no_grad


class WithoutInputs(JoinHook):
    """The hook of a process without more batches: it contributes zero gradients, and gets the final model."""

    def __init__(self, ddp: Any):
        self.ddp = ddp

    def main_hook(self) -> None:
        """Take part in one iteration of the other processes."""
        ddp = self.ddp
        ddp._without_inputs = True
        ddp.require_forward_param_sync = True
        ddp._sync_buffers(ddp._latest(False))
        if ddp.asks_who_used():
            ddp.used_anywhere(set())
        with no_grad():
            for bucket in ddp.buckets():
                ddp.begun(bucket, empty=True)()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Copy the model of the process that ran longest to all processes."""
        ddp = self.ddp
        ddp._copy_from(ddp._latest(is_last_joiner), [*ddp._all_parameters(), *ddp._all_buffers()])
        ddp._without_inputs = False
