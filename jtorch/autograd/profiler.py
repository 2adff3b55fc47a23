"""torch.autograd.profiler: the older names of torch.profiler."""
from __future__ import annotations

from typing import Any

from jtorch import profiler
from jtorch.profiler import record_function

__all__ = ["profile", "record_function"]


class profile(profiler.profile):  # noqa: N801
    """Traces what runs in a ``with`` block, if ``enabled``. See torch.autograd.profiler.profile and torch.profiler.profile."""

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, record_shapes: bool = False, with_flops: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False, **others: Any):
        super().__init__(schedule=None if enabled else lambda step: profiler.ProfilerAction.NONE)
