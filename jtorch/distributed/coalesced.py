"""Many tensors in few messages."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jtorch._api.flat import flattened, unflattened
from jtorch.distributed.collectives import broadcast
from jtorch.tensor import Tensor


def broadcast_together(tensors: Iterable[Tensor], source: int, group: Any) -> list[tuple[Tensor, Tensor]]:
    """Each tensor with what the group's rank ``source`` has in its place; all of a dtype are one message."""
    by_dtype: dict[Any, list[Tensor]] = {}
    for t in tensors:
        by_dtype.setdefault(t.dtype, []).append(t)
    received: list[tuple[Tensor, Tensor]] = []
    for alike in by_dtype.values():
        flat = flattened([t.detach() for t in alike])
        broadcast(flat, group=group, group_src=source)
        received += zip(alike, unflattened(flat, alike), strict=True)
    return received
