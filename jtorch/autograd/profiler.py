"""torch.autograd.profiler: older names for torch.profiler."""
from __future__ import annotations

from typing import Any

from jtorch import profiler
from jtorch.autograd.profiler_util import EventList as EventList
from jtorch.autograd.profiler_util import FunctionEvent as FunctionEvent
from jtorch.autograd.profiler_util import FunctionEventAvg as FunctionEventAvg
from jtorch.profiler import ProfilerActivity as ProfilerActivity
from jtorch.profiler import kineto_available as kineto_available
from jtorch.profiler import record_function

__all__ = ["profile", "record_function"]


class _NotBuilt:
    """A part of PyTorch's profiler without a counterpart in JAX's."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(f"torch.autograd.profiler.{type(self).__name__} is not built; torch.profiler.profile writes a "
                                  "timeline with export_chrome_trace.")


class emit_nvtx(_NotBuilt):  # noqa: N801
    """Marks each call for NVIDIA's tools. Not built."""


class emit_itt(_NotBuilt):  # noqa: N801
    """Marks each call for Intel's tools. Not built."""


class profile(profiler.profile):  # noqa: N801
    """Traces what runs in a ``with`` block, if ``enabled``. See torch.autograd.profiler.profile and
    torch.profiler.profile.
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, record_shapes: bool = False, with_flops: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False, **others: Any):
        super().__init__(schedule=None if enabled else lambda step: profiler.ProfilerAction.NONE)

    @property
    def function_events(self) -> EventList:
        """Return each event. See torch.autograd.profiler.profile."""
        return self.events()

    @property
    def self_cpu_time_total(self) -> float:
        """Return the total time of all events, in microseconds.

        See torch.autograd.profiler.profile.self_cpu_time_total.
        """
        return self.events().self_cpu_time_total

    def total_average(self) -> FunctionEventAvg:
        """Return all events as a single average. See torch.autograd.profiler.profile.total_average."""
        return self.events().total_average()

    def table(self, *args: Any, **kwargs: Any) -> str:
        """Return a table of the events. See torch.autograd.profiler.profile.table."""
        return self.events().table(*args, **kwargs)

    def __str__(self) -> str:
        return self.table() if self._timeline is not None and not self._running else "<unfinished torch.autograd.profile>"

del _NotBuilt      # PyTorch's module does not have this name.
