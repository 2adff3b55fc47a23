"""DistributedSampler: each of several processes gets a part of a dataset."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from jtorch._base.generator import Generator
from jtorch.random import randperm
from jtorch.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th index of a dataset, beginning with ``rank``. See torch.utils.data.DistributedSampler.

    The shuffled order depends on ``seed`` and the last ``set_epoch``, and is PyTorch's. If the dataset does not divide
    evenly, the first indices are repeated at the end, or with ``drop_last`` the last ones are omitted.

    Args:
        dataset (Sized): the dataset, of which only the length is used.
        num_replicas (int), rank (int): the number of processes and this process's index; those of the process group, if None.
        shuffle (bool): whether the order is random, with a new order for each ``set_epoch``.
        seed (int): the seed of that order, which must be the same on all processes.
        drop_last (bool): whether indices that do not divide evenly are omitted.

    Raises:
        ValueError: ``rank`` is not from 0 to ``num_replicas - 1``.
        RuntimeError: one of them is not given, and there is no process group.

    Example::

        >>> list(torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]

    """

    def __init__(self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
                 seed: int = 0, drop_last: bool = False) -> None:
        if num_replicas is None or rank is None:
            from jtorch import distributed  # loaded where it is used
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        share = len(dataset) / num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        indices = list(range(n))
        if self.shuffle:
            indices = randperm(n, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        repeats = math.ceil(self.total_size / n) if n else 1
        return iter((indices * repeats)[self.rank:self.total_size:self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, so that each epoch is shuffled differently."""
        self.epoch = epoch
