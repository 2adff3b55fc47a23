"""Gradients that travel together. See torch.distributed.GradBucket."""
from __future__ import annotations

from jtorch._api.flat import flattened, unflattened
from jtorch._api.functions import zeros_like
from jtorch.distributed.means import Means
from jtorch.tensor import Tensor

FIRST_MB = 1.0      # the first bucket is small, so that it can go early


class GradBucket:
    """The gradients of some parameters, one behind the other in a flat tensor. See torch.distributed.GradBucket."""

    def __init__(self, params: list[Tensor], index: int):
        self._params, self._index, self._last = params, index, False
        self._flat: Tensor | None = None
        self.means = Means(params)      # where there is no hook

    def gathered(self, empty: bool = False) -> list[Tensor]:
        """Return the parameters' gradients; zeros, where one has none, or all if the bucket shall be ``empty``."""
        return [(zeros_like(p) if empty or p.grad is None else p.grad).detach() for p in self._params]

    def fill(self, empty: bool = False) -> None:
        """Copy the gradients into the flat tensor."""
        self._flat = flattened(self.gathered(empty))

    def index(self) -> int:
        """Its place among the buckets."""
        return self._index

    def is_last(self) -> bool:
        """Return whether it is the last of a backward."""
        return self._last

    def buffer(self) -> Tensor:
        """Return the flat tensor."""
        if self._flat is None:
            raise RuntimeError("the bucket has no gradients yet")
        return self._flat

    def set_buffer(self, buffer: Tensor) -> None:
        """Put another flat tensor in its place."""
        self._flat = buffer

    def gradients(self) -> list[Tensor]:
        """Views of the flat tensor, one a parameter."""
        return unflattened(self.buffer(), self._params)

    def parameters(self) -> list[Tensor]:
        """Return the parameters."""
        return self._params


def buckets_of(params: list[Tensor], cap_mb: float, first_mb: float = FIRST_MB) -> list[GradBucket]:
    """Return parameters in buckets of a dtype and of at most so many MB, from the last on: its gradient comes first."""
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
