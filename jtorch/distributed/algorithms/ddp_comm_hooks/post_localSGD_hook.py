"""torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook: gradients are averaged by all at first, later by a few.

Stich, "Local SGD converges fast and communicates little", 2018; Lin and others, "Don't use large mini-batches, use local SGD",
2018. An averager of parameters belongs to it.
"""
from __future__ import annotations

from typing import Any

from jtorch.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from jtorch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from jtorch.distributed.membership import new_subgroups

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """Which group averages gradients until step ``start_localSGD_iter``, and which from then on.

    Args:
        process_group: the first; all processes, if None.
        subgroup: the second.
        start_localSGD_iter: when the second takes over.
        post_local_gradient_allreduce: whether it does; if not, gradients are not averaged any more.

    """

    __slots__ = ("iter", "post_local_gradient_allreduce", "process_group", "start_localSGD_iter", "subgroup")

    def __init__(self, process_group: Any, subgroup: Any, start_localSGD_iter: int,
                 post_local_gradient_allreduce: bool = True):
        self.process_group, self.subgroup, self.start_localSGD_iter = process_group, subgroup, start_localSGD_iter
        self.post_local_gradient_allreduce, self.iter = post_local_gradient_allreduce, 0

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Counts backwards by their last buckets."""
        self.iter += bucket.is_last()


def post_localSGD_hook(state: PostLocalSGDState, bucket: Any) -> Any:
    """The mean of gradients, over fewer processes later. See PyTorch's hook of this name."""
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return allreduce_hook(state.subgroup, bucket)
