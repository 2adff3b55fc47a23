"""``pin_memory`` for batches. Tensors are returned unchanged, because jtorch never pins host memory."""
from __future__ import annotations

import queue
from collections.abc import Mapping, Sequence
from typing import Any

from jtorch.utils.data._utils.containers import is_namedtuple, mapping_like, sequence_like
from jtorch.utils.data._utils.errors import ExceptionWrapper


def pin_memory(data: Any, device: Any = None) -> Any:
    """Call ``pin_memory()`` on all parts of ``data`` that have it."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return mapping_like(data, {k: pin_memory(v, device) for k, v in data.items()})
    if is_namedtuple(data):
        return type(data)(*[pin_memory(x, device) for x in data])
    if isinstance(data, Sequence):
        return sequence_like(data, [pin_memory(x, device) for x in data])
    return data


def _pin_memory_loop(in_queue: Any, out_queue: Any, device_id: Any, done_event: Any, device: Any = None) -> None:
    """Move batches from one queue to another and pin them. DataLoaders of other packages run this in a thread."""
    while not done_event.is_set():
        try:
            number, data = in_queue.get(timeout=0.1)
        except queue.Empty:
            continue
        made = data if isinstance(data, ExceptionWrapper) else pin_memory(data, device)
        while not done_event.is_set():
            try:
                out_queue.put((number, made), timeout=0.1)
                break
            except queue.Full:
                continue
