"""Pipes that change the order of samples."""
from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from jtorch._api import functions
from jtorch.dtype import named
from jtorch.utils.data.datapipes.datapipe import IterDataPipe, functional_datapipe
from jtorch.utils.data.sampler import SequentialSampler


class SamplerIterDataPipe(IterDataPipe):
    """The keys that a sampler of a pipe yields, not the samples, as in PyTorch."""

    def __init__(self, datapipe: Any, sampler: Any = SequentialSampler, sampler_args: Any = None, sampler_kwargs: Any = None):
        self.datapipe = datapipe
        self.sampler = sampler(*(sampler_args or ()), **{"data_source": datapipe, **(sampler_kwargs or {})})

    def __iter__(self) -> Iterator:
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe):
    """The samples in random order, drawn from a buffer of ``buffer_size`` samples. See torch.utils.data.datapipes.iter."""

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0):
        if buffer_size <= 0:
            raise ValueError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size, self._enabled, self._seed, self._rng = buffer_size, True, None, random.Random()

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Enable or disable shuffling."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """Set the seed of the next pass."""
        self._seed = seed       # type: ignore[assignment]
        return self

    def __iter__(self) -> Iterator:
        if not self._enabled:
            yield from self.datapipe
            return
        seed, self._seed = self._seed, None
        self._rng.seed(int(functions.empty((), dtype=named("int64")).random_().item()) if seed is None else seed)
        buffer: list = []
        for data in self.datapipe:
            if len(buffer) == self.buffer_size:
                at = self._rng.randint(0, len(buffer) - 1)
                taken, buffer[at] = buffer[at], data
                yield taken
            else:
                buffer.append(data)
        while buffer:
            yield buffer.pop(self._rng.randint(0, len(buffer) - 1))

    def __len__(self) -> int:
        return len(self.datapipe)
