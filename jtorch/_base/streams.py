"""torch.Stream and torch.Event: queues of work, and moments in them, of any device. A CPU has one, without events."""
from __future__ import annotations

from typing import Any

from jtorch.device import accelerator_type, as_device
from jtorch.device import device as _device

STREAMS: dict[str, type[Stream]] = {}       # of which class a device's are, where it has one of its own
EVENTS: dict[str, type[Event]] = {}


def _place(device: Any) -> _device:
    return as_device(device) if device is not None else _device(accelerator_type() or "cpu")


class Stream:
    """A name for a queue of work; with a GPU's device it is a torch.cuda.Stream. See torch.Stream."""

    device: _device
    device_index, device_type, stream_id = -1, 0, 0

    def __new__(cls, device: Any = None, *args: Any, **kwargs: Any):
        return object.__new__(STREAMS.get(_place(device).type, cls) if cls is Stream else cls)

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any):
        self.device = _place(device)

    def query(self) -> bool:
        """Whether all work is done."""
        return True

    def synchronize(self) -> None:
        """Nothing: a CPU's work is done when it is asked for."""

    def wait_event(self, event: Any) -> None:
        """Nothing: work is in order."""

    def wait_stream(self, stream: Any) -> None:
        """Nothing: work is in order."""

    def record_event(self, event: Any = None) -> Any:
        """Records ``event``, or a new one."""
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
        """Nothing."""

    def __repr__(self):
        return (f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, "
                f"stream_id={self.stream_id}")


class Event:
    """A moment in a queue of work; with a GPU's device it is a torch.cuda.Event. See torch.Event."""

    def __new__(cls, device: Any = None, *args: Any, **kwargs: Any):
        return object.__new__(EVENTS.get(_place(device).type, cls) if cls is Event else cls)

    def __init__(self, device: Any = None, *, enable_timing: bool = False, **kwargs: Any):
        self.device = _place(device)

    def record(self, stream: Any = None) -> None:
        """RuntimeError: a CPU has none."""
        raise RuntimeError(f"{self.device.type} backend doesn't support events.")

    def query(self) -> bool:
        """True: nothing was recorded."""
        return True

    def synchronize(self) -> None:
        """Nothing: nothing was recorded."""

    def wait(self, stream: Any = None) -> None:
        """Nothing: nothing was recorded."""

    def elapsed_time(self, end_event: Any) -> float:
        """RuntimeError: a CPU has none."""
        raise RuntimeError(f"{self.device.type} backend doesn't support events.")

    def __repr__(self):
        return f"torch.Event device_type={self.device.type}, device_index=-1, event_flag=0, event_id=0"
