"""Datasets: map-style ones are indexed, iterable ones are iterated over; and combinations of datasets."""
from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from jtorch._base import warned
from jtorch._base.generator import Generator, default_generator
from jtorch.random import randperm
from jtorch.tensor import Tensor

__all__ = ["ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset",
           "random_split"]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """A set of samples: a subclass defines ``__getitem__``, and ``__len__`` for samplers.

    If ``__getitems__(indices)`` is defined, it is called for all samples of a batch at once and returns a list. ``a + b`` is
    ``ConcatDataset([a, b])``. See torch.utils.data.Dataset.

    Example::

        >>> class Squares(torch.utils.data.Dataset):
        ...     def __getitem__(self, i):
        ...         return i * i
        ...     def __len__(self):
        ...         return 4
        >>> next(iter(torch.utils.data.DataLoader(Squares(), batch_size=4)))
        tensor([0, 1, 4, 9])

    """

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset) -> Dataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """A dataset that is iterated over from its start: a subclass defines ``__iter__``.

    Each worker of a ``DataLoader`` iterates over its own copy. So ``__iter__`` (or ``worker_init_fn``) has to ask
    ``get_worker_info()`` for the worker's part; otherwise every sample comes once per worker. See
    torch.utils.data.IterableDataset.

    Raises:
        TypeError: a class without ``__iter__`` is instantiated.

    Example::

        >>> class Numbers(torch.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         worker = torch.utils.data.get_worker_info()
        ...         start, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        ...         return iter(range(start, 6, step))
        >>> [batch.tolist() for batch in torch.utils.data.DataLoader(Numbers(), batch_size=4)]
        [[0, 1, 2, 3], [4, 5]]

    """

    def __add__(self, other: Dataset) -> Dataset:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """A dataset of tensors, whose sample i consists of each tensor's row i. See torch.utils.data.TensorDataset.

    Args:
        tensors (Tensors): of shape (N, ...), any dtypes.

    Raises:
        AssertionError: the first dims differ.

    Example::

        >>> torch.utils.data.TensorDataset(torch.arange(3), torch.zeros(3))[1]
        (tensor(1), tensor(0.))

    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != t.size(0) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([t[index] for t in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """A dataset whose samples are tuples or dicts of several datasets' samples. See torch.utils.data.StackDataset.

    Args:
        args, kwargs (Datasets): of one length, given by position for tuples, or by name for dicts.

    Raises:
        ValueError: no datasets, different lengths, or datasets given in both ways.

    Example::

        >>> torch.utils.data.StackDataset(x=[1, 2], y=["a", "b"])[1]
        {'x': 2, 'y': 'b'}

    """

    datasets: tuple | dict

    def __init__(self, *args: Dataset, **kwargs: Dataset) -> None:
        if args and kwargs:
            raise ValueError("Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but "
                             "both types are given.")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        parts = self._parts()
        self._length = len(parts[0])
        if any(len(d) != self._length for d in parts):
            raise ValueError("Size mismatch between datasets")

    def _parts(self) -> list:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _sample(self, values: Iterable) -> Any:
        return dict(zip(self.datasets, values, strict=True)) if isinstance(self.datasets, dict) else tuple(values)

    def __getitem__(self, index: Any) -> Any:
        return self._sample([d[index] for d in self._parts()])

    def __getitems__(self, indices: list) -> list:
        columns = [_samples(d, indices) for d in self._parts()]
        return [self._sample(row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


def _samples(dataset: Any, indices: list) -> list:
    """Return a dataset's samples at ``indices``, by ``__getitems__`` if the dataset has it."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[i] for i in indices]
    items = dataset.__getitems__(indices)
    if len(items) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
    return items


class ConcatDataset(Dataset[_T_co]):
    """Map-style datasets one after the other. See torch.utils.data.ConcatDataset.

    Args:
        datasets (iterable of Datasets): with ``__len__``.

    Raises:
        AssertionError: no datasets, or an IterableDataset among them.

    Example::

        >>> both = torch.utils.data.ConcatDataset([[1, 2], [3]])
        >>> len(both), both[2]
        (3, 3)

    """

    datasets: list[Dataset[_T_co]]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable) -> list[int]:
        """Return the cumulative lengths of datasets."""
        return list(itertools.accumulate(len(d) for d in sequence))

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> _T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        k = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[k][idx - (self.cumulative_sizes[k - 1] if k else 0)]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The deprecated, misspelt name of ``cumulative_sizes``."""
        warned.warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning)
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """Iterable datasets one after the other. See torch.utils.data.ChainDataset.

    Args:
        datasets (iterable of IterableDatasets): in their order.

    Example::

        >>> class Pair(torch.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter([1, 2])
        >>> list(torch.utils.data.ChainDataset([Pair(), Pair()]))
        [1, 2, 1, 2]

    """

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        super().__init__()
        self.datasets = datasets

    def _checked(self) -> Iterable[Any]:
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield d

    def __iter__(self):
        for d in self._checked():
            yield from d

    def __len__(self) -> int:
        return sum(len(d) for d in self._checked())


class Subset(Dataset[_T_co]):
    """The samples of a dataset at some indices. See torch.utils.data.Subset.

    A subclass that defines ``__getitem__`` must define ``__getitems__`` too, since a ``DataLoader`` fetches whole batches.

    Args:
        dataset (Dataset): map-style.
        indices (sequence of ints): the indices of the samples, in their order.

    Example::

        >>> list(torch.utils.data.Subset("abcd", [3, 0]))
        ['d', 'a']

    """

    dataset: Dataset[_T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[_T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__. A DataLoader asks for a batch through "
                "__getitems__; define it as well, for instance:\n\n"
                "def __getitems__(self, indices):\n    return [self.__getitem__(i) for i in indices]")

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[_T_co]:
        found = [self.indices[i] for i in indices]
        whole = getattr(self.dataset, "__getitems__", None)
        return whole(found) if callable(whole) else [self.dataset[i] for i in found]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Dataset[_T], lengths: Sequence[int | float],
                 generator: Generator | None = default_generator) -> list[Subset[_T]]:
    """Split a dataset randomly into disjoint parts. See torch.utils.data.random_split.

    Args:
        dataset (Dataset): with ``__len__``.
        lengths (sequence of ints or floats): sizes that sum to the dataset's length, or fractions that sum to 1. Sizes of
            fractions are rounded down; the remaining samples go to the first parts, one each.
        generator (Generator): the source of the order.

    Returns:
        a list of Subsets.

    Raises:
        ValueError: lengths that do not sum to the dataset's, or a fraction outside of 0 to 1.

    Example::

        >>> g = torch.Generator().manual_seed(42)
        >>> [list(part) for part in torch.utils.data.random_split(range(10), [0.7, 0.3], generator=g)]
        [[2, 6, 1, 8, 4, 5, 0], [9, 3, 7]]

    """
    n = len(dataset)        # type: ignore[arg-type]
    sizes = _sizes_of_fractions(lengths, n) if math.isclose(sum(lengths), 1) and sum(lengths) <= 1 else list(lengths)
    if sum(sizes) != n:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    indices = randperm(sum(sizes), generator=generator).tolist()        # type: ignore[arg-type]
    ends = itertools.accumulate(sizes)
    return [Subset(dataset, indices[end - size:end]) for end, size in zip(ends, sizes, strict=True)]      # type: ignore[misc]


def _sizes_of_fractions(fractions: Sequence[float], n: int) -> list[int]:
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    sizes = [math.floor(n * f) for f in fractions]
    for i in range(n - sum(sizes)):
        sizes[i % len(sizes)] += 1
    for i, size in enumerate(sizes):
        if size == 0:
            warned.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    return sizes
