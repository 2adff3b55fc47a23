"""torch.Stream and torch.Event: queues of work and moments in them. A CPU has one queue and no events."""
from __future__ import annotations

from typing import Any

from jtorch.device import accelerator_type, as_device
from jtorch.device import device as _device

STREAMS: dict[str, type[Stream]] = {}       # STREAMS and EVENTS map a device type to its classes of streams and events
EVENTS: dict[str, type[Event]] = {}


def _place(device: Any) -> _device:
    return as_device(device) if device is not None else _device(accelerator_type() or "cpu")


class Stream:
    """A queue of work. For a GPU the constructor returns a torch.cuda.Stream. See torch.Stream."""

    device: _device
    device_index, device_type, stream_id = -1, 0, 0

    def __new__(cls, device: Any = None, *args: Any, **kwargs: Any):
        return object.__new__(STREAMS.get(_place(device).type, cls) if cls is Stream else cls)

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any):
        self.device = _place(device)

    def query(self) -> bool:
        """Return whether all work is done."""
        return True

    def synchronize(self) -> None:
        """Do nothing, since a CPU's work is done at once."""

    def wait_event(self, event: Any) -> None:
        """Do nothing, since work is done in order."""

    def wait_stream(self, stream: Any) -> None:
        """Do nothing, since work is done in order."""

    def record_event(self, event: Any = None) -> Any:
        """Record ``event``, or a new one."""
        event = event or Event(self.device)
        event.record(self)
        return event

    def __eq__(self, other):
        return isinstance(other, Stream) and (self.device, self.stream_id) == (other.device, other.stream_id)

    def __hash__(self):
        return hash((self.device, self.stream_id))

    def __enter__(self):
        return self

    def __exit__(self, *exc_info: Any) -> None:
        """Do nothing."""

    def __repr__(self):
        return (f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, "
                f"stream_id={self.stream_id}")


class Event:
    """A moment in a queue of work. For a GPU the constructor returns a torch.cuda.Event. See torch.Event."""

    def __new__(cls, device: Any = None, *args: Any, **kwargs: Any):
        return object.__new__(EVENTS.get(_place(device).type, cls) if cls is Event else cls)

    def __init__(self, device: Any = None, *, enable_timing: bool = False, **kwargs: Any):
        self.device = _place(device)

    def record(self, stream: Any = None) -> None:
        """Raise RuntimeError, since a CPU has no events."""
        raise RuntimeError(f"{self.device.type} backend doesn't support events.")

    def query(self) -> bool:
        """Return True, since nothing was recorded."""
        return True

    def synchronize(self) -> None:
        """Do nothing, since nothing was recorded."""

    def wait(self, stream: Any = None) -> None:
        """Do nothing, since nothing was recorded."""

    def elapsed_time(self, end_event: Any) -> float:
        """Raise RuntimeError, since a CPU has no events."""
        raise RuntimeError(f"{self.device.type} backend doesn't support events.")

    def __repr__(self):
        return f"torch.Event device_type={self.device.type}, device_index=-1, event_flag=0, event_id=0"
