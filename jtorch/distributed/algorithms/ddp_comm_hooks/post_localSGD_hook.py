"""torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook: average gradients over all ranks, later over a subgroup.

Source: Stich, "Local SGD converges fast and communicates little", 2018; Lin and others, "Don't use large mini-batches, use
local SGD", 2018. Use it with a model averager, which averages the parameters over all ranks.
"""
from __future__ import annotations

from typing import Any

from jtorch.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from jtorch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from jtorch.distributed.membership import new_subgroups

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """The groups that average gradients before and after step ``start_localSGD_iter``.

    Args:
        process_group: the group of the first phase; all processes, if None.
        subgroup: the group of the second phase; ``new_subgroups()`` makes it, if None.
        start_localSGD_iter: the backward with which the second phase begins.
        post_local_gradient_allreduce: whether the second phase averages gradients in the subgroup, or not at all.

    """

    __slots__ = ("iter", "post_local_gradient_allreduce", "process_group", "start_localSGD_iter", "subgroup")

    def __init__(self, process_group: Any, subgroup: Any, start_localSGD_iter: int,
                 post_local_gradient_allreduce: bool = True):
        self.process_group, self.subgroup, self.start_localSGD_iter = process_group, subgroup, start_localSGD_iter
        self.post_local_gradient_allreduce, self.iter = post_local_gradient_allreduce, 0

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Count a backward when its last bucket comes."""
        self.iter += bucket.is_last()


def post_localSGD_hook(state: PostLocalSGDState, bucket: Any) -> Any:
    """Return the mean of a bucket over ``state.process_group``, or over the subgroup in the second phase.

    With ``post_local_gradient_allreduce=False`` the second phase returns the bucket unchanged. See PyTorch's hook of this name.
    """
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return allreduce_hook(state.subgroup, bucket)
