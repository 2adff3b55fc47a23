"""Models whose processes have different numbers of batches. See torch.nn.parallel.DistributedDataParallel.join."""
from __future__ import annotations

from typing import Any

from jtorch.distributed.algorithms.join import JoinHook
from jtorch.no_grad import no_grad


class WithoutInputs(JoinHook):
    """A process that has no more batches: it adds zeros to the others' gradients, and gets their model at the end."""

    def __init__(self, ddp: Any):
        self.ddp = ddp

    def main_hook(self) -> None:
        """One iteration of the others."""
        ddp = self.ddp
        ddp._without_inputs = True
        ddp._sync_buffers(ddp._latest(False))
        if ddp.asks_who_used():
            ddp.used_anywhere(set())
        with no_grad():
            for bucket in ddp.buckets():
                ddp.begun(bucket, empty=True)()

    def post_hook(self, is_last_joiner: bool) -> None:
        """All processes get the model of the one that went on longest."""
        ddp = self.ddp
        ddp._copy_from(ddp._latest(is_last_joiner), [*ddp._all_parameters(), *ddp._all_buffers()])
        ddp._without_inputs = False
