"""torch.cpu: what code that is written for any device asks of the CPU."""
from __future__ import annotations

import contextlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from jtorch import engine
from jtorch._base.cpu_flags import capabilities


def is_available() -> bool:
    """True. See torch.cpu.is_available."""
    return True


def is_initialized() -> bool:
    """True. See torch.cpu.is_initialized."""
    return True


def device_count() -> int:
    """How many CPUs there are: 1. See torch.cpu.device_count."""
    return 1


def current_device() -> str:
    """The name of the only one. See torch.cpu.current_device."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is only one. See torch.cpu.set_device."""


def get_capabilities() -> Mapping[str, bool | str]:
    """Which sets of instructions this CPU has, as far as the system tells. See torch.cpu.get_capabilities.

    >>> "architecture" in torch.cpu.get_capabilities()
    True
    """
    return MappingProxyType(capabilities())


def synchronize(device: Any = None) -> None:
    """Runs what was held back. See torch.cpu.synchronize."""
    engine.synchronize()


class Stream:
    """Nothing: the CPU has no streams. See torch.cpu.Stream."""

    def __init__(self, priority: int = -1):
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Nothing."""


def current_stream(device: Any = None) -> Stream:
    """A stream that stands for none. See torch.cpu.current_stream."""
    return _STREAM


class StreamContext(contextlib.nullcontext):
    """Nothing: the CPU has no streams. See torch.cpu.StreamContext."""


def stream(stream: Any) -> StreamContext:
    """Nothing: the CPU has no streams. See torch.cpu.stream."""
    return StreamContext(stream)


_STREAM = Stream()
