"""``pin_memory`` of whatever a batch is made of. Tensors are returned as they are: host memory is never pinned here."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jtorch.utils.data._utils.containers import is_namedtuple, mapping_like, sequence_like


def pin_memory(data: Any, device: Any = None) -> Any:
    """Calls ``pin_memory()`` on all parts of ``data`` that have it."""
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
