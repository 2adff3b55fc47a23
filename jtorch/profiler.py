"""torch.profiler: the events of ``jtorch.engine.trace()``, as tables and as files for Perfetto or TensorBoard.

With an accelerator, JAX records the work on the device, and its trace is part of the file.
"""
from __future__ import annotations

import functools
import gzip
import json
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any

import jax

from jtorch import engine
from jtorch.engine import timeline

__all__ = ["ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
           "supported_activities", "tensorboard_trace_handler"]


class ProfilerAction(Enum):
    """The action of a profiler in one step. See torch.profiler.ProfilerAction."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(Enum):
    """The activities that a profiler can record: calls on the CPU, and work on a GPU, which JAX records.

    See torch.profiler.ProfilerActivity.
    """

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


def supported_activities() -> set[ProfilerActivity]:
    """Return the activities that can be recorded: the CPU's, and the GPU's if there is one."""
    from jtorch import cuda
    return {ProfilerActivity.CPU} | ({ProfilerActivity.CUDA} if cuda.is_available() else set())


def kineto_available() -> bool:
    """Return False: jtorch's engine and JAX record the events, not Kineto. See torch.profiler.kineto_available."""
    return False


class record_function:  # noqa: N801
    """Gives a part of a program a name in the trace: a ``with`` block, or a decorator.

    See torch.profiler.record_function.
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        self._annotation = jax.profiler.TraceAnnotation(self.name)
        self._annotation.__enter__()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *exc_info: Any) -> None:
        timeline.annotate(self.name, self._start)
        self._annotation.__exit__(*exc_info)

    def __call__(self, fn: Callable) -> Callable:
        @functools.wraps(fn)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return fn(*args, **kwargs)
        return wrapper


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """Return a function from step to action: wait, warm up, record ``active`` steps, and repeat.

    See torch.profiler.schedule.
    """
    def action(step: int) -> ProfilerAction:
        step -= skip_first
        cycle = wait + warmup + active
        if skip_first_wait and step >= 0:
            step += wait
        if step < 0 or (repeat and step // cycle >= repeat):
            return ProfilerAction.NONE
        at = step % cycle
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE
    return action


def _default_schedule_fn(step: int) -> ProfilerAction:
    """Return RECORD for each step, the default schedule."""
    return ProfilerAction.RECORD


class profile:  # noqa: N801
    """Records the calls in a ``with`` block. See torch.profiler.profile.

    ``on_trace_ready`` is called with the profiler after each cycle of the ``schedule``, or at the end.
    ``key_averages().table()`` and ``export_chrome_trace`` show the last cycle: single calls, compiled programs,
    compilation and waits. Arguments that select what to record are accepted; shapes and lines are always recorded.
    """

    def __init__(self, *, activities: Iterable[ProfilerActivity] | None = None,
                 schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Callable[[Any], Any] | None = None, record_shapes: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_flops: bool = False, with_modules: bool = False, **others: Any):
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.step_num, self._running = 0, False
        self._folder: str | None = None
        self._timeline: engine.Timeline | None = None
        self._asks_jax = ProfilerActivity.CUDA in (supported_activities() if activities is None else activities)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Start recording, unless the schedule says to wait."""
        self._follow()

    def _action(self) -> ProfilerAction:
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)

    def _follow(self) -> None:
        if self._action() in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE) and not self._running:
            if self._asks_jax:
                self._folder = tempfile.mkdtemp(prefix="jtorch-profile-")
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
                jax.profiler.start_trace(self._folder)
            self._timeline = engine.trace().__enter__()
            self._running = True

    def step(self) -> None:
        """Mark the end of a step of the program."""
        saves = self._action() is ProfilerAction.RECORD_AND_SAVE
        if saves:
            self.stop()
        self.step_num += 1
        self._follow()

    def stop(self) -> None:
        """Stop recording, and pass the result to ``on_trace_ready``."""
        if not self._running:
            return
        self._seen().__exit__(None, None, None)
        if self._asks_jax:
            jax.profiler.stop_trace()
        self._running = False
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _seen(self) -> engine.Timeline:
        if self._timeline is None:
            raise RuntimeError("Profiler hasn't been started or has nothing to export")
        return self._timeline

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for Perfetto or chrome://tracing, compressed if the path ends in ``.gz``."""
        seen = {"traceEvents": self._seen().events() + self._of_jax(), "displayTimeUnit": "ms"}
        opened: Any = gzip.open if str(path).endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8") as file:
            json.dump(seen, file)

    def _of_jax(self) -> list[dict]:
        """Return the events that JAX has traced."""
        found = sorted(Path(self._folder).rglob("*.trace.json.gz")) if self._folder else []
        if not found:
            return []
        with gzip.open(found[-1], "rt", encoding="utf-8") as file:
            return json.load(file)["traceEvents"]

    def events(self) -> Any:
        """Return each event. See torch.profiler.profile.events."""
        from jtorch.autograd.profiler_util import events_of
        return events_of(self._seen())

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> Any:
        """Group the events by name; ``.table(sort_by="self_cpu_time_total")`` formats them.

        See torch.profiler.profile.key_averages.
        """
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write source lines with their times, for a flame graph. See torch.profiler.profile.export_stacks."""
        from jtorch.autograd.profiler_util import stacks_of
        with open(path, "w", encoding="utf-8") as file:
            stacks_of(self.events(), metric, file.write)

    def export_memory_timeline(self, *args: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError."""
        raise NotImplementedError("profile.export_memory_timeline is not built; torch.cuda.memory_stats() says what "
                                  "is in use on a GPU, "
                                  "and profile.export_chrome_trace writes what ran")


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False,
                              use_python_export: bool = False) -> Callable[[Any], None]:
    """Return an ``on_trace_ready`` that writes a file per cycle. See torch.profiler.tensorboard_trace_handler."""
    def handler(prof: Any) -> None:
        Path(dir_name).mkdir(parents=True, exist_ok=True)
        name = f"{worker_name or 'worker'}.{prof.step_num}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(str(Path(dir_name) / name))
    return handler
