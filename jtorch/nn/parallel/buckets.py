"""Buckets of gradients that are communicated together. See torch.distributed.GradBucket."""
from __future__ import annotations

from typing import Any

from jtorch._api.flattening import flattened, unflattened
from jtorch._api.functions import zeros_like
from jtorch.distributed.averaging import BucketAverager
from jtorch.tensor import Tensor


class GradBucket:
    """The gradients of some parameters in one flat tensor. See torch.distributed.GradBucket."""

    def __init__(self, params: list[Tensor], index: int):
        self._params, self._index, self._last = params, index, False
        self._flat: Tensor | None = None
        self.averager = BucketAverager(params)      # averages the gradients if there is no hook

    def gathered(self, empty: bool = False) -> list[Tensor]:
        """Return the parameters' gradients, with zeros for missing ones; only zeros if ``empty``."""
        return [(zeros_like(p) if empty or p.grad is None else p.grad).detach() for p in self._params]

    def fill(self, empty: bool = False) -> None:
        """Copy the gradients into the flat tensor."""
        self._flat = flattened(self.gathered(empty))

    def index(self) -> int:
        """Return the bucket's index."""
        return self._index

    def is_last(self) -> bool:
        """Return whether this is the last bucket of a backward."""
        return self._last

    def buffer(self) -> Tensor:
        """Return the flat tensor."""
        if self._flat is None:
            raise RuntimeError("the bucket has no gradients yet")
        return self._flat

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the flat tensor."""
        self._flat = buffer

    def gradients(self) -> list[Tensor]:
        """Return the gradients as views of the flat tensor."""
        return unflattened(self.buffer(), self._params)

    def parameters(self) -> list[Tensor]:
        """Return the parameters."""
        return self._params


def buckets_of(params: list[Tensor], cap_mb: float, first_mb: float) -> list[GradBucket]:
    """Group parameters into buckets of one dtype, in reverse order as backward computes gradients.

    A bucket ends with the parameter that brings it to its size limit, as in PyTorch's reducer. The first one of a dtype has a
    limit of its own.
    """
    ended: list[list[Tensor]] = []
    filling: dict[Any, list[Tensor]] = {}
    sizes: dict[Any, int] = {}
    limits: dict[Any, float] = {}
    for p in reversed(params):
        filling.setdefault(p.dtype, []).append(p)
        sizes[p.dtype] = sizes.get(p.dtype, 0) + p.nbytes
        if sizes[p.dtype] >= limits.get(p.dtype, first_mb) * 2**20:
            ended.append(filling.pop(p.dtype))
            sizes[p.dtype], limits[p.dtype] = 0, cap_mb
    buckets = [GradBucket(b, i) for i, b in enumerate([*ended, *filling.values()])]
    buckets[-1]._last = True
    return buckets
