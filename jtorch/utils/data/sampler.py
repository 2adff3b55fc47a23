"""Samplers: the order in which a DataLoader fetches samples."""
from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import jtorch.dtype as dtypes
from jtorch._api.creation import as_tensor
from jtorch._base.generator import Generator
from jtorch.engine import CPU
from jtorch.ops import random as draw
from jtorch.random import generator_of, multinomial, randint, randperm
from jtorch.tensor import Tensor

__all__ = ["BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler"]

_T_co = TypeVar("_T_co", covariant=True)


def drawn_seed(generator: Generator | None = None) -> int:
    """Return the 63-bit integer that ``torch.empty((), dtype=torch.int64).random_()`` would draw."""
    stream = generator_of(CPU, generator).stream
    assert stream is not None
    return int(draw.random(stream, (), dtypes.int64.np, None, None))


class Sampler(Generic[_T_co]):
    """An iterable of indices, or as a ``batch_sampler`` of lists of indices: a subclass defines ``__iter__``.

    Only ``len(loader)`` needs ``__len__``. See torch.utils.data.Sampler.

    Example::

        >>> class Evens(torch.utils.data.Sampler):
        ...     def __iter__(self):
        ...         return iter(range(0, 6, 2))
        >>> list(Evens())
        [0, 2, 4]

    """

    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """The indices 0, 1, 2, … in order. See torch.utils.data.SequentialSampler.

    Args:
        data_source (Sized): the dataset, of which only the length is used.

    Example::

        >>> list(torch.utils.data.SequentialSampler("abc"))
        [0, 1, 2]

    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All indices in random order, or ``num_samples`` of them. See torch.utils.data.RandomSampler.

    Without a ``generator``, each pass seeds one from the default generator as PyTorch does. So the order after
    ``torch.manual_seed`` is PyTorch's.

    Args:
        data_source (Sized): the dataset, of which only the length is used.
        replacement (bool): whether each index is drawn independently.
        num_samples (int or None): the number of indices; one for each sample, if None.
        generator (Generator or None): the source of the order.

    Raises:
        TypeError: ``replacement`` is no bool.
        ValueError: ``num_samples`` is no positive int.

    Example::

        >>> _ = torch.manual_seed(0)
        >>> list(torch.utils.data.RandomSampler(range(4)))
        [2, 3, 0, 1]

    """

    data_source: Sized
    replacement: bool

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
                 generator: Generator | None = None) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """The number of indices of one pass; the dataset's length unless it was given."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        g = Generator().manual_seed(drawn_seed()) if self.generator is None else self.generator
        if self.replacement:
            yield from _drawn(n, self.num_samples, g)
            return
        for _ in range(self.num_samples // n):
            yield from randperm(n, generator=g).tolist()
        yield from randperm(n, generator=g).tolist()[:self.num_samples % n]

    def __len__(self) -> int:
        return self.num_samples


def _drawn(n: int, count: int, generator: Generator) -> Iterator[int]:
    """Yield ``count`` integers below ``n``, drawn 32 at a time as PyTorch does."""
    for size in [*[32] * (count // 32), count % 32]:
        yield from randint(n, (size,), generator=generator).tolist()


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order. See torch.utils.data.SubsetRandomSampler.

    Args:
        indices (sequence of ints): the indices, each of which comes once.
        generator (Generator or None): the source of the order.

    Example::

        >>> sorted(torch.utils.data.SubsetRandomSampler([5, 3, 8]))
        [3, 5, 8]

    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


def _is_count(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and x > 0


class WeightedRandomSampler(Sampler[int]):
    """``num_samples`` indices, drawn in proportion to ``weights``. See torch.utils.data.WeightedRandomSampler.

    Args:
        weights (sequence of floats): one for each index; they need not sum to 1.
        num_samples (int): the number of indices.
        replacement (bool): whether each index is drawn independently; otherwise no index comes twice.
        generator (Generator or None): the source of random numbers.

    Raises:
        ValueError: weights that are not one-dimensional, no positive ``num_samples``, or a ``replacement`` that is no bool.

    Example::

        >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0], 3))
        [1, 1, 1]

    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True,
                 generator: Generator | None = None) -> None:
        if not _is_count(num_samples):
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")  # noqa: TRY004
        found = as_tensor(weights, dtype=dtypes.float64)
        if found.dim() != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(found.shape)}")
        self.weights = found
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of ``batch_size`` indices of another sampler. See torch.utils.data.BatchSampler.

    Args:
        sampler (iterable of ints): the source of the indices.
        batch_size (int): the number of indices in a batch.
        drop_last (bool): whether to omit a last batch that is smaller.

    Raises:
        ValueError: ``batch_size`` is no positive int, or ``drop_last`` no bool.

    Example::

        >>> list(torch.utils.data.BatchSampler(range(7), batch_size=3, drop_last=False))
        [[0, 1, 2], [3, 4, 5], [6]]

    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not _is_count(batch_size):
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")  # noqa: TRY004
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        n = len(self.sampler)       # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
