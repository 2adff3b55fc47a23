"""torch.cpu: the CPU as a device, for code that runs on any device."""
from __future__ import annotations

import contextlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from jtorch import engine
from jtorch._base.cpu_flags import capabilities


def is_available() -> bool:
    """Return True. See torch.cpu.is_available."""
    return True


def is_initialized() -> bool:
    """Return True. See torch.cpu.is_initialized."""
    return True


def device_count() -> int:
    """Return the number of CPU devices: 1. See torch.cpu.device_count."""
    return 1


def current_device() -> str:
    """Return ``cpu``. See torch.cpu.current_device."""
    return "cpu"


def set_device(device: Any) -> None:
    """Do nothing, since there is only one CPU. See torch.cpu.set_device."""


def get_capabilities() -> Mapping[str, bool | str]:
    """Return the instruction sets of this CPU that the system reports. See torch.cpu.get_capabilities.

    >>> "architecture" in torch.cpu.get_capabilities()
    True
    """
    return MappingProxyType(capabilities())


def synchronize(device: Any = None) -> None:
    """Run all deferred calls and wait until they are done. See torch.cpu.synchronize."""
    engine.synchronize()


class Stream:
    """A stream without effect: the CPU has no streams. See torch.cpu.Stream."""

    def __init__(self, priority: int = -1):
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Do nothing."""


def current_stream(device: Any = None) -> Stream:
    """Return a stream without effect. See torch.cpu.current_stream."""
    return _STREAM


class StreamContext(contextlib.nullcontext):
    """A context manager without effect: the CPU has no streams. See torch.cpu.StreamContext."""


def stream(stream: Any) -> StreamContext:
    """Return a context manager without effect: the CPU has no streams. See torch.cpu.stream."""
    return StreamContext(stream)


_STREAM = Stream()
