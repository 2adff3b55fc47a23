"""Buckets of gradients that are communicated together. See torch.distributed.GradBucket."""
from __future__ import annotations

from jtorch._api.flattening import flattened, unflattened
from jtorch._api.functions import zeros_like
from jtorch.distributed.averaging import BucketAverager
from jtorch.tensor import Tensor

FIRST_MB = 1.0      # MB in the first bucket. A small bucket fills early, so its communication starts early.


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


def buckets_of(params: list[Tensor], cap_mb: float, first_mb: float = FIRST_MB) -> list[GradBucket]:
    """Group parameters into buckets of one dtype and limited size, in reverse order as backward computes gradients."""
    made: list[list[Tensor]] = []
    size = 0.0
    for p in reversed(params):
        mb = p.numel() * p.element_size() / 2**20
        if not made or made[-1][0].dtype is not p.dtype or size + mb > (first_mb if len(made) == 1 else cap_mb):
            made.append([])
            size = 0.0
        made[-1].append(p)
        size += mb
    buckets = [GradBucket(b, i) for i, b in enumerate(made)]
    buckets[-1]._last = True
    return buckets
