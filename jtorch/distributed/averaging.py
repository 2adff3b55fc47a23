"""The mean of all ranks' gradients, in one message."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from jtorch._api.flattening import flattened, unflattened
from jtorch.distributed import kernels
from jtorch.distributed.arrays import array_of, described, tensor_of
from jtorch.distributed.backends import Backend
from jtorch.distributed.collectives import _begin
from jtorch.distributed.groups import ProcessGroup
from jtorch.distributed.work import Work
from jtorch.engine.values import ALIGNMENT, aligned_zeros
from jtorch.tensor import Tensor


class BucketAverager:
    """Averages tensors of one dtype over ranks, with a message buffer that it reuses.

    Each rank sends its share of the mean, as in PyTorch. On the CPU the share is computed directly in the message buffer. The
    tensors begin at offsets that XLA's alignment allows, so that XLA copies neither the message nor the result. On GPUs the
    tensors are concatenated.
    """

    def __init__(self, like: list[Tensor]):
        self._dtype = like[0].dtype
        step = ALIGNMENT // like[0].element_size()
        # Each tensor's start and end in the message, and its shape.
        self._places: list[tuple[int, int, tuple[int, ...]]] = []
        self._length = 0
        for t in like:
            end = self._length + t.numel()
            self._places.append((self._length, end, tuple(t.shape)))
            self._length = -(-end // step) * step       # Rounds up, so that the next tensor is aligned.
        self._message: np.ndarray | None = None

    def begin(self, tensors: list[Tensor], ranks: int, group: object) -> Work | None:
        """Begin to average tensors over ``ranks`` ranks. The Work's result is arrays that nothing else writes to, or tensors."""
        means: list[Any] = []

        def do(pg: ProcessGroup) -> None:
            if pg.backend_of(tensors) == Backend.NCCL:
                means.extend(_means_on_gpus(pg, tensors, ranks))
                return
            halves = self._dtype.itemsize == 2      # NumPy multiplies 16-bit floats slowly, so XLA scales them.
            message = self._fill_message(pg, tensors, 1 if halves else 1 / ranks)
            body = kernels.mean(ranks) if halves else kernels.all_reduce("sum")
            means.extend(self._parts(pg.run(described("all_reduce", message, ranks), body, message)))
        return _begin(group, "all_reduce", do, True, means, tensors)

    def _fill_message(self, pg: ProcessGroup, tensors: list[Tensor], scale: float) -> np.ndarray:
        """Return the message: the tensors times ``scale``, in the reused buffer."""
        if self._message is None:
            self._message = aligned_zeros(self._length, self._dtype.np).view(self._dtype.to_real().np)
        for t, part in zip(tensors, self._parts(self._message), strict=True):
            if scale == 1:
                np.copyto(part, array_of(pg, t))
            else:
                np.multiply(array_of(pg, t), part.dtype.type(scale), out=part)
        return self._message

    def _parts(self, message: np.ndarray) -> Iterator[np.ndarray]:
        """Yield each tensor's part of a message, in its shape and dtype."""
        numbers = message.view(self._dtype.np)      # The message holds complex numbers as pairs.
        for start, end, shape in self._places:
            yield numbers[start:end].reshape(shape)


def _means_on_gpus(pg: ProcessGroup, tensors: list[Tensor], ranks: int) -> list[Tensor]:
    """Return the means as views of one tensor on this rank's GPU."""
    flat = array_of(pg, flattened(tensors))
    made = pg.run(described("all_reduce", flat, ranks), kernels.mean(ranks), flat)
    return unflattened(tensor_of(made, tensors[0].device), tensors)
